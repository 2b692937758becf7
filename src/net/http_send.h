// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "net/http_message.h"

namespace stoker {

// Sends `request` to `base_url` ("http://host[:port]" or "https://host[:port]", IPv6 addresses in
// brackets) and returns whatever answer there is: any status is a response. It does not follow
// redirects, and says no header and no body in its errors. Thread-safe.
using HttpSend =
    std::function<Result<HttpResponse>(const std::string& base_url, const HttpRequest& request)>;

}  // namespace stoker
