// SPDX-License-Identifier: Apache-2.0
#include "net/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>

#include "base/base64.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "net/percent.h"

namespace stoker {
namespace {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

std::string FirstOf(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto value = environment(name);
    if (value && !value->empty()) return *value;
  }
  return "";
}

// The bytes of an IP number, 4 or 16; "" = it is none.
std::string NumberOf(const std::string& text) {
  char bytes[sizeof(in6_addr)];
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) return {bytes, sizeof(in_addr)};
  if (inet_pton(AF_INET6, text.c_str(), bytes) == 1) return {bytes, sizeof(in6_addr)};
  return "";
}

// Of "10.0.0.0/8" or "fd00::/8"; a block that is none has nobody in it.
bool IsInBlock(const std::string& number, const std::string& block) {
  const size_t slash = block.find('/');
  const std::string first = NumberOf(block.substr(0, slash));
  const std::string length = block.substr(slash + 1);
  size_t bits = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
  if (error != std::errc() || end != length.data() + length.size()) return false;
  if (number.empty() || first.size() != number.size() || bits > 8 * first.size()) return false;
  const size_t whole = bits / 8;
  if (first.compare(0, whole, number, 0, whole) != 0) return false;
  if (bits % 8 == 0) return true;
  const int differ = static_cast<unsigned char>(first[whole] ^ number[whole]);
  return differ >> (8 - bits % 8) == 0;
}

// Cuts ":port" off. False: the entry names another port.
bool TakePort(std::string* entry, int port) {
  const size_t bracket = entry->find(']');
  const size_t colon = entry->rfind(':');
  // That of "fd00::1" is part of the number, unless the number stands in brackets.
  const bool has = colon != std::string::npos &&
                   (StartsWith(*entry, "[") ? colon > bracket && bracket != std::string::npos
                                            : entry->find(':') == colon);
  if (!has) return true;
  if (entry->substr(colon + 1) != std::to_string(port)) return false;
  entry->resize(colon);
  return true;
}

// "example.com", ".example.com", "*.example.com", "10.0.0.1", "10.0.0.0/8", "[::1]", "host:8443".
bool Names(std::string entry, const HttpUrl& url) {
  entry = LowerCase(entry);
  if (entry == "*") return true;
  if (!TakePort(&entry, url.port)) return false;
  if (StartsWith(entry, "[") && EndsWith(entry, "]")) entry = entry.substr(1, entry.size() - 2);
  const std::string host = LowerCase(url.host);
  const std::string number = NumberOf(host);
  if (entry.find('/') != std::string::npos) return IsInBlock(number, entry);
  if (!number.empty()) return number == NumberOf(entry);
  if (StartsWith(entry, "*")) entry.erase(0, 1);
  if (StartsWith(entry, ".")) entry.erase(0, 1);
  return !entry.empty() && (host == entry || EndsWith(host, "." + entry));
}

bool GoesStraight(const Environment& environment, const HttpUrl& url) {
  std::string list = FirstOf(environment, {"no_proxy", "NO_PROXY"});
  for (char& c : list) {
    if (c == ' ' || c == '\t') c = ',';
  }
  for (const std::string& entry : Split(list, ',')) {
    if (!entry.empty() && Names(entry, url)) return true;
  }
  return false;
}

Result<HttpProxy> Parse(std::string text) {
  HttpProxy proxy;
  if (text.find("://") == std::string::npos) text = "http://" + text;
  const size_t begin = text.find("://") + 3;
  const size_t end = std::min(text.find('/', begin), text.size());
  const size_t at = text.substr(0, end).rfind('@');
  std::string shown = text;
  if (at != std::string::npos && at >= begin) {
    proxy.authorization = "Basic " + Base64(PercentDecode(text.substr(begin, at - begin)));
    text.erase(begin, at - begin + 1);
    shown = text;
  }
  auto url = ParseHttpUrl(text);
  if (!url.ok()) {
    return Status(Code::kInvalid,
                  "the proxy of the environment, '" + Printable(shown) +
                      "', is not http://host:port or https://host:port",
                  "Set https_proxy and http_proxy to such an address, or unset them");
  }
  proxy.url = std::move(*url);
  return proxy;
}

}  // namespace

Result<std::optional<HttpProxy>> ProxyFor(const HttpUrl& url, const Environment& environment) {
  const std::string text =
      url.tls ? FirstOf(environment, {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
              : FirstOf(environment, {"http_proxy", "all_proxy", "ALL_PROXY"});
  if (text.empty() || GoesStraight(environment, url)) return std::optional<HttpProxy>();
  STOKER_ASSIGN(HttpProxy proxy, Parse(text));
  return std::optional<HttpProxy>(std::move(proxy));
}

}  // namespace stoker
