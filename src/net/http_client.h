// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/time.h"
#include "net/http_message.h"

namespace stoker {

struct HttpClientOptions {
  Duration connect_timeout = Duration::Seconds(2);
  Duration total_timeout = Duration::Seconds(5);  // from sending to the last byte
  int64_t max_header_bytes = 16 << 10;
  int64_t max_body_bytes = 1 << 20;
};

// One request on its own connection; `request.target` goes behind `url.prefix`. Any status is a
// response. Thread-safe. kUnavailable, kTimeout, kCorrupt (not HTTP, cut off), kNoSpace (over a
// limit).
Result<HttpResponse> HttpCall(const HttpUrl& url, HttpRequest request,
                              const HttpClientOptions& options = {});

}  // namespace stoker
