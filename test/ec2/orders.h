// SPDX-License-Identifier: Apache-2.0
// What a test tells whoever plays a cloud.
#pragma once

#include <cstdlib>
#include <string>

#include "net/http_client.h"

namespace stoker::lab_test {

// An order: "refuse?code=X"; its answer, or "" when it fails.
inline std::string Order(const std::string& what) {
  const char* control = std::getenv("STOKER_TEST_CONTROL");
  const auto url = ParseHttpUrl(control == nullptr ? "" : control);
  if (!url.ok()) return "";
  HttpRequest request;
  request.target = "/" + what;
  HttpClientOptions options;
  options.total_timeout = Duration::Seconds(20);
  const auto answer = HttpCall(*url, request, options);
  return answer.ok() && answer->status == 200 ? answer->body : "";
}

}  // namespace stoker::lab_test
