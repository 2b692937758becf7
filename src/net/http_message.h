// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace stoker {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// The value of the first header called `name`, whatever its case; null when there is none.
const std::string* FindHeader(const HttpHeaders& headers, std::string_view name);

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query, as on the wire
  HttpHeaders headers;       // Host and Content-Length are added where missing
  std::string body;
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers;
  std::string body;
};

// "http://host[:port][/prefix]"; the prefix comes without a trailing slash. kInvalid otherwise.
struct HttpUrl {
  std::string host;
  int port = 80;
  std::string prefix;
};
Result<HttpUrl> ParseHttpUrl(std::string_view url);

}  // namespace stoker
