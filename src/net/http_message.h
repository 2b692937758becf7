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

// "http[s]://host[:port][/prefix]"; the host of an IPv6 number comes without its brackets, the
// prefix without a trailing slash. kInvalid otherwise.
struct HttpUrl {
  std::string host;
  int port = 80;
  std::string prefix;
  bool tls = false;
};
// What the Host header says: "host", "host:port" where the port is not the scheme's own.
std::string HostHeader(const HttpUrl& url);
// "http://host:port" for messages.
std::string OriginText(const HttpUrl& url);
Result<HttpUrl> ParseHttpUrl(std::string_view url);

}  // namespace stoker
