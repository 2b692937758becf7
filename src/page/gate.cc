// SPDX-License-Identifier: Apache-2.0
#include "page/gate.h"

#include "base/text.h"
#include "net/percent.h"

namespace stoker::page {
namespace {

// The same time whatever the two share.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size() || a.empty()) return false;
  unsigned char differs = 0;
  for (size_t i = 0; i < a.size(); ++i) differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differs == 0;
}

HttpResponse Refusal(int status, const std::string& why) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, why + "\n"};
}

// A link on another site's page leads here without the cookie. From here it is gone on to once
// more, by the page itself, and the browser sends it along; what stands behind '#' stays.
constexpr char kAgain[] = "/again.js";

HttpResponse OnceMore() {
  return {200,
          {{"Content-Type", "text/html; charset=utf-8"}},
          "<!doctype html><title>stoker</title><link rel=\"icon\" href=\"data:,\">"
          "<script src=\"" +
              std::string(kAgain + 1) + "\"></script>\n"};
}

HttpResponse AgainScript() {
  return {200,
          {{"Content-Type", "text/javascript; charset=utf-8"}},
          "location.replace('/?again=1' + location.hash);\n"};
}

// "localhost" and "127.0.0.1", with any port.
bool IsThisMachine(std::string_view host) {
  const size_t colon = host.rfind(':');
  if (colon != host.npos) {
    if (!WholeNumber(host.substr(colon + 1), 1, 65535)) return false;
    host = host.substr(0, colon);
  }
  return host == "localhost" || host == "127.0.0.1";
}

const std::string* OnlyHeader(const HttpRequest& request, std::string_view name, bool* twice) {
  const std::string* found = FindHeader(request.headers, name);
  int count = 0;
  for (const auto& [each, value] : request.headers) {
    const HttpHeaders one = {{each, value}};
    count += FindHeader(one, name) != nullptr ? 1 : 0;
  }
  *twice = count > 1;
  return found;
}

}  // namespace

bool Gate::HasCookie(const HttpRequest& request) const {
  const std::string name = "stoker_" + std::to_string(port_) + "=";
  for (const auto& [header, value] : request.headers) {
    const HttpHeaders one = {{header, value}};
    if (FindHeader(one, "Cookie") == nullptr) continue;
    for (std::string part : Split(value, ';')) {
      part.erase(0, part.find_first_not_of(' '));
      if (StartsWith(part, name) && SameSecret(part.substr(name.size()), secrets_.session)) {
        return true;
      }
    }
  }
  return false;
}

std::optional<HttpResponse> Gate::Exchange(const HttpRequest& request) {
  const std::string token = QueryOf(request.target, "token");
  if (token.empty()) return std::nullopt;
  // Not a redirect: whoever opened the link may be of another site, and browsers keep the cookie
  // from all that follows from that, but not from where this page itself goes.
  HttpResponse go{
      200,
      {{"Content-Type", "text/html; charset=utf-8"}},
      "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=/\">"
      "<link rel=\"icon\" href=\"data:,\"><title>stoker</title><a href=\"/\">stoker</a>\n"};
  // What only looks whether something is there, as a preview does, opens nothing and spends
  // nothing.
  if (HasCookie(request) || request.method == "HEAD") return go;
  const bool first = SameSecret(token, secrets_.once) && !spent_.exchange(true);
  if (!first && !(secrets_.spend_later && secrets_.spend_later(token))) {
    return Refusal(403,
                   "This link has been used, or is not of this 'stoker ui'. Another one: stoker ui "
                   "--link");
  }
  go.headers.push_back({"Set-Cookie", "stoker_" + std::to_string(port_) + "=" + secrets_.session +
                                          "; HttpOnly; SameSite=Strict; Path=/; Max-Age=86400"});
  return go;
}

std::optional<HttpResponse> Gate::Stop(const HttpRequest& request, bool change) {
  bool twice = false;
  const std::string* host = OnlyHeader(request, "Host", &twice);
  if (host == nullptr || twice || !IsThisMachine(*host)) {
    return Refusal(421, "stoker ui answers as localhost and 127.0.0.1 alone");
  }
  const std::string* origin = OnlyHeader(request, "Origin", &twice);
  if (twice || (origin != nullptr && *origin != "http://" + *host)) {
    return Refusal(403, "a page of another origin asks for this");
  }
  const std::string* site = FindHeader(request.headers, "Sec-Fetch-Site");
  const auto path = PathOf(request.target);
  if (!path) return Refusal(400, "no such path");
  if (!change && request.method != "GET" && request.method != "HEAD") {
    return Refusal(405, "only GET is answered here");
  }
  if (change && request.method != "POST") return Refusal(405, "changes are made by POST");
  // Following a link from elsewhere to the page is no harm; anything below it is not for others.
  if (site != nullptr && *path != "/" && *site != "same-origin" && *site != "none") {
    return Refusal(403, "a page of another origin asks for this");
  }
  if (*path == "/" && !change) {
    if (auto exchanged = Exchange(request)) return exchanged;
  }
  if (*path == kAgain && !change) return AgainScript();
  if (!HasCookie(request)) {
    const bool foreign = site != nullptr && *site != "same-origin" && *site != "none";
    if (*path == "/" && foreign && !change) return OnceMore();
    return Refusal(401,
                   "Open the link that 'stoker ui' printed, or another one ('stoker ui --link'): "
                   "this browser has not done so");
  }
  if (!change) return std::nullopt;
  const std::string* token = OnlyHeader(request, "X-Stoker-Token", &twice);
  if (origin == nullptr || token == nullptr || twice || !SameSecret(*token, secrets_.change)) {
    return Refusal(403, "changes are made by the page alone");
  }
  return std::nullopt;
}

std::optional<std::string> PathOf(std::string_view target) {
  std::string_view raw = target.substr(0, target.find_first_of("?#"));
  if (raw.empty() || raw[0] != '/' || raw.size() > 512) return std::nullopt;
  const std::string path = PercentDecode(raw);
  if (path.find_first_of("\\%") != path.npos || path.find("//") != path.npos) return std::nullopt;
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) {
      return std::nullopt;
    }
  }
  if (path != "/" && !IsSafeRelativePath(path.substr(1))) return std::nullopt;
  size_t slashes = 0, encoded = 0;
  for (const char c : raw) slashes += c == '/' ? 1 : 0;
  for (const char c : path) encoded += c == '/' ? 1 : 0;
  if (slashes != encoded) return std::nullopt;
  return path;
}

std::string QueryOf(std::string_view target, std::string_view name) {
  const size_t mark = target.find('?');
  if (mark == target.npos) return "";
  const std::string query(target.substr(mark + 1, target.find('#') - mark - 1));
  for (const std::string& part : Split(query, '&')) {
    const size_t equals = part.find('=');
    if (equals == part.npos || PercentDecode(part.substr(0, equals)) != name) continue;
    return PercentDecode(part.substr(equals + 1));
  }
  return "";
}

void AddSafeHeaders(HttpHeaders* headers) {
  const auto add = [&](const char* name, const char* value) {
    if (FindHeader(*headers, name) == nullptr) headers->push_back({name, value});
  };
  add("Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  add("X-Content-Type-Options", "nosniff");
  add("Referrer-Policy", "no-referrer");
  add("Cross-Origin-Resource-Policy", "same-origin");
  add("Cross-Origin-Opener-Policy", "same-origin");
  add("Cache-Control", "no-store");
}

}  // namespace stoker::page
