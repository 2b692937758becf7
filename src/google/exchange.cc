// SPDX-License-Identifier: Apache-2.0
#include "google/exchange.h"

#include <algorithm>

#include "base/text.h"
#include "net/percent.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostSeconds = 30LL * 24 * 3600;

std::string TextOf(const Json& object, const char* name) {
  const auto at = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

// Whom a secret may be sent to.
Status CheckPrivate(const std::string& where, const std::string& url) {
  if (StartsWith(url, "https://")) return Status::Ok();
  for (const char* here : {"http://127.0.0.1", "http://localhost", "http://[::1]"}) {
    const size_t size = std::string_view(here).size();
    if (!StartsWith(url, here)) continue;
    if (url.size() == size || url[size] == ':' || url[size] == '/') return Status::Ok();
  }
  return Status(Code::kInvalid,
                where + ": '" + Printable(url.substr(0, 200)) + "' may not be asked without TLS");
}

// {"error": "invalid_grant", "error_description": "…"} or {"error": {"status": …, "message": …}}
Status Refusal(const std::string& where, const HttpResponse& response) {
  const Json json = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  std::string said = TextOf(json, "error");
  std::string more = TextOf(json, "error_description");
  if (json.is_object() && json.contains("error") && json["error"].is_object()) {
    said = TextOf(json["error"], "status");
    more = TextOf(json["error"], "message");
  }
  if (!more.empty()) said += (said.empty() ? "" : ": ") + more;
  const int status = response.status;
  const bool later = status >= 500 || status == 429 || status == 408;
  const bool again = StartsWith(said, "invalid_grant");
  return Status(later ? Code::kUnavailable : Code::kDenied,
                where + ": no token: the service answered " + std::to_string(status) +
                    (said.empty() ? "" : ": " + Printable(said.substr(0, 300))),
                later   ? ""
                : again ? "Check this machine's clock, and whether the credentials were revoked: "
                          "'gcloud auth application-default login' makes new ones"
                        : "Check the credentials and their rights");
}

}  // namespace

Result<HttpResponse> CallUrl(const GoogleLookup& lookup, const std::string& where,
                             const std::string& url, HttpRequest request) {
  const bool plain = StartsWith(url, "http://");
  const size_t host = plain ? 7 : 8;
  if ((!plain && !StartsWith(url, "https://")) ||
      url.find_first_of(" \t\r\n#\\") != std::string::npos || url.size() <= host ||
      url.find('@') < url.find_first_of("/?", host)) {
    return Status(Code::kInvalid, where + ": '" + Printable(url.substr(0, 200)) +
                                      "' is not an http:// or https:// address");
  }
  const size_t path = std::min(url.find_first_of("/?", host), url.size());
  request.target = url.substr(path);
  if (!StartsWith(request.target, "/")) request.target = "/" + request.target;
  auto response = lookup.environment.http(url.substr(0, path), request);
  if (!response.ok()) return response.status().WithContext(where);
  return response;
}

Result<GoogleToken> ExchangeForm(const GoogleLookup& lookup, const std::string& where,
                                 const std::string& url, const GoogleForm& form,
                                 HttpHeaders headers) {
  STOKER_TRY(CheckPrivate(where, url));
  HttpRequest request{"POST", "", std::move(headers), ""};
  request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  for (const auto& [name, value] : form) {
    if (value.empty()) continue;
    request.body += (request.body.empty() ? "" : "&") + name + "=" + PercentEncode(value);
  }
  const WallTime asked = lookup.environment.now();
  STOKER_ASSIGN(const HttpResponse response, CallUrl(lookup, where, url, std::move(request)));
  if (response.status != 200) return Refusal(where, response);
  const Json json = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  GoogleToken out;
  out.source = where;
  out.secret = TextOf(json, "access_token");
  if (out.secret.empty() || out.secret.find_first_of("\r\n") != std::string::npos) {
    return Status(Code::kCorrupt, where + ": the answer has no access_token");
  }
  const auto life = json.find("expires_in");
  if (life == json.end()) return out;
  const std::string text = life->is_string() ? life->get<std::string>() : life->dump();
  const auto seconds = WholeNumber(text, 1, kMostSeconds);
  if (!seconds) return Status(Code::kCorrupt, where + ": the answer has a strange expires_in");
  out.expires = asked + Duration::Seconds(*seconds);
  return out;
}

std::string ImpersonatedBy(const std::string& url) {
  const size_t end = url.find(":generateAccessToken");
  const size_t begin = url.rfind('/');
  if (end == std::string::npos || begin == std::string::npos || begin > end) return "";
  return url.substr(begin + 1, end - begin - 1);
}

Result<GoogleToken> Impersonate(const GoogleLookup& lookup, const std::string& where,
                                const std::string& url, const GoogleToken& giver,
                                const Json& delegates, const std::string& lifetime) {
  STOKER_TRY(CheckPrivate(where, url));
  HttpRequest request{"POST", "", {}, ""};
  request.headers = {{"Content-Type", "application/json"},
                     {"Authorization", "Bearer " + giver.secret}};
  Json body = {{"scope", Json::array({lookup.scope})}, {"lifetime", lifetime}};
  body["delegates"] = delegates.is_array() ? delegates : Json::array();
  request.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  STOKER_ASSIGN(const HttpResponse response, CallUrl(lookup, where, url, std::move(request)));
  if (response.status != 200) return Refusal(where, response);
  const Json json = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  GoogleToken out;
  out.source = where;
  out.who = ImpersonatedBy(url);
  out.secret = TextOf(json, "accessToken");
  const auto expires = ParseRfc3339(TextOf(json, "expireTime"));
  if (out.secret.empty() || out.secret.find_first_of("\r\n") != std::string::npos ||
      !expires.ok()) {
    return Status(Code::kCorrupt, where + ": the answer lacks accessToken or expireTime");
  }
  out.expires = *expires;
  return out;
}

}  // namespace stoker
