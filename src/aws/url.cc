// SPDX-License-Identifier: Apache-2.0
#include "aws/url.h"

#include "base/text.h"

namespace stoker {

Result<AwsUrl> ParseAwsUrl(const std::string& what, std::string_view url) {
  const Status bad(Code::kInvalid, what + ": not an http:// or https:// address",
                   "Write it as https://host:port");
  AwsUrl out;
  out.tls = StartsWith(url, "https://");
  if (!out.tls && !StartsWith(url, "http://")) return bad;
  for (const char c : url) {
    if (c <= ' ' || c == 0x7f || c == '#' || c == '\\') return bad;
  }
  const std::string_view rest = url.substr(out.tls ? 8 : 7);
  const size_t end = rest.find_first_of("/?");
  const std::string authority(rest.substr(0, end));
  if (end != std::string_view::npos) out.target = rest.substr(end);
  if (StartsWith(out.target, "?")) out.target = "/" + out.target;
  if (authority.empty() || authority.find('@') != std::string::npos) return bad;
  size_t port_at = authority.rfind(':');
  if (authority[0] == '[') {
    const size_t close = authority.find(']');
    if (close == std::string::npos) return bad;
    out.host = authority.substr(1, close - 1);
    if (close + 1 < authority.size() && authority[close + 1] != ':') return bad;
    port_at = close + 1 < authority.size() ? close + 1 : std::string::npos;
  } else {
    out.host = authority.substr(0, port_at);
    if (out.host.find(':') != std::string::npos) return bad;
  }
  const std::string port = port_at == std::string::npos ? "" : authority.substr(port_at + 1);
  const bool digits = port.find_first_not_of("0123456789") == std::string::npos;
  const bool empty_port = port_at != std::string::npos && port.empty();
  if (out.host.empty() || !digits || empty_port || port.size() > 5) return bad;
  out.base = (out.tls ? "https://" : "http://") + authority;
  // As clients send it: without the port that the scheme implies.
  out.host_header = port == (out.tls ? "443" : "80") ? authority.substr(0, port_at) : authority;
  return out;
}

}  // namespace stoker
