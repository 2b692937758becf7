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

namespace {

// "host", "host:port", "[v6]", "[v6]:port".
bool TakeAuthority(std::string_view text, HttpUrl* out) {
  std::string_view host = text;
  std::string_view port;
  if (StartsWith(text, "[")) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (host.find_first_not_of("0123456789abcdefABCDEF:.%") != std::string_view::npos) return false;
  } else {
    const size_t colon = text.rfind(':');
    if (colon != std::string_view::npos) {
      host = text.substr(0, colon);
      port = text.substr(colon);
    }
    if (host.find(':') != std::string_view::npos) return false;
  }
  if (!port.empty()) {
    if (port[0] != ':') return false;
    port.remove_prefix(1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out->port);
    if (error != std::errc() || end != port.data() + port.size()) return false;
    if (out->port < 1 || out->port > 65535) return false;
  }
  out->host = host;
  return !out->host.empty() && out->host.find_first_of(" @?#\r\n/\\[]") == std::string::npos;
}

}  // namespace

Result<HttpUrl> ParseHttpUrl(std::string_view url) {
  const Status bad(Code::kInvalid, "not an http:// or https:// address: " + Printable(url));
  HttpUrl out;
  std::string_view rest = url;
  if (StartsWith(url, "https://")) {
    out.tls = true;
    out.port = 443;
    rest.remove_prefix(8);
  } else if (StartsWith(url, "http://")) {
    rest.remove_prefix(7);
  } else {
    return bad;
  }
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    out.prefix = rest.substr(slash);
    while (EndsWith(out.prefix, "/")) out.prefix.pop_back();
    rest = rest.substr(0, slash);
  }
  if (!TakeAuthority(rest, &out)) return bad;
  if (out.prefix.find_first_of(" \r\n?#") != std::string::npos) return bad;
  return out;
}

std::string HostHeader(const HttpUrl& url) {
  const bool v6 = url.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + url.host + "]" : url.host;
  return url.port == (url.tls ? 443 : 80) ? host : host + ":" + std::to_string(url.port);
}

std::string OriginText(const HttpUrl& url) {
  return (url.tls ? "https://" : "http://") + HostHeader(url);
}

}  // namespace stoker
