// SPDX-License-Identifier: Apache-2.0
#include "net/http_message.h"

#include <strings.h>

#include <charconv>

#include "base/text.h"

namespace stoker {

const std::string* FindHeader(const HttpHeaders& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (key.size() == name.size() && strncasecmp(key.data(), name.data(), name.size()) == 0) {
      return &value;
    }
  }
  return nullptr;
}

Result<HttpUrl> ParseHttpUrl(std::string_view url) {
  const Status bad(Code::kInvalid, "not an http:// address: " + Printable(url));
  constexpr std::string_view kScheme = "http://";
  if (!StartsWith(url, kScheme)) return bad;
  std::string_view rest = url.substr(kScheme.size());
  HttpUrl out;
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    out.prefix = rest.substr(slash);
    while (EndsWith(out.prefix, "/")) out.prefix.pop_back();
    rest = rest.substr(0, slash);
  }
  const size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos) {
    const std::string_view port = rest.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (error != std::errc() || end != port.data() + port.size()) return bad;
    if (out.port < 1 || out.port > 65535) return bad;
    rest = rest.substr(0, colon);
  }
  out.host = rest;
  if (out.host.empty() || out.host.find_first_of(" @?#\r\n:") != std::string::npos) return bad;
  if (out.prefix.find_first_of(" \r\n?#") != std::string::npos) return bad;
  return out;
}

}  // namespace stoker
