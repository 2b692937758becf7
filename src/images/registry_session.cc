// SPDX-License-Identifier: Apache-2.0
#include "images/registry_session.h"

#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/json_fields.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "container/image_manifest.h"
#include "net/percent.h"
#include "net/system.h"

namespace stoker {
namespace {

constexpr int kMostRedirects = 3;
constexpr size_t kMostToken = 64 << 10;

HttpPoolOptions RegistryPool(const std::string& ca_file, bool pushes) {
  HttpPoolOptions options = SystemPoolOptions(ca_file);
  options.timeouts.connect = Duration::Seconds(5);
  // What is pushed is looked through before it is taken.
  options.timeouts.first_byte = Duration::Seconds(pushes ? 60 : 10);
  options.timeouts.stall = Duration::Seconds(10);
  options.max_body_bytes = kMostManifestBytes;
  return options;
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || StartsWith(host, "127.");
}

// Of an answer that says nothing of the image: whether it may be another one in a moment.
Code CodeOf(int status) {
  return status == 429 || status >= 500 ? Code::kBusy : Code::kUnavailable;
}

std::optional<RegistryAddress> Apart(const std::string& url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return std::nullopt;
  const size_t slash = url.find('/', scheme + 3);
  if (slash == std::string::npos) return RegistryAddress{url, "/"};
  return RegistryAddress{url.substr(0, slash), url.substr(slash)};
}

}  // namespace

RegistrySession::RegistrySession(const RegistryAsk& ask)
    : ask_(ask),
      own_(RegistryPool(ask.ca_file, ask.pushes)),
      others_(RegistryPool("", ask.pushes)) {
  const std::string& host = ask.ref.registry;
  origin_ = "https://" + (host == "docker.io" ? "registry-1.docker.io" : host);
}

Result<HttpResponse> RegistrySession::Send(const RegistryAddress& to, HttpRequest request) {
  request.target = to.target;
  STOKER_ASSIGN(HttpUrl url, ParseHttpUrl(to.origin));
  HttpPool& pool = to.origin == origin_ ? own_ : others_;
  auto answer = pool.Call(url, request);
  // As engines do: what is on this very machine may speak without TLS.
  if (answer.ok() || answer.status().Is(Code::kDenied) || to.origin != origin_ || !url.tls ||
      !IsLoopback(url.host)) {
    return answer;
  }
  const std::string plain = "http" + origin_.substr(std::string("https").size());
  STOKER_ASSIGN(url, ParseHttpUrl(plain));
  auto second = own_.Call(url, request);
  if (!second.ok()) return answer;
  origin_ = plain;
  return second;
}

Status RegistrySession::Refused() const {
  const bool hub = ask_.ref.registry == "docker.io";
  const std::string host = hub ? "" : " " + ask_.ref.registry;
  std::string why = Name() + ": ";
  if (ask_.pushes) {
    return Status(Code::kDenied, why + "the registry does not let " +
                                     (ask_.login ? Printable(ask_.login->user) : "nobody") +
                                     " push there");
  }
  if (ask_.login) {
    why += "the login there (" + Printable(ask_.login->user) + ") may not pull it";
  } else {
    why += hub ? "there is no such image, or it wants a login" : "the registry wants a login";
    if (!ask_.no_login.empty()) why += "; there is none: " + ask_.no_login;
  }
  return Status(
      Code::kInvalid, why,
      "Correct container.image, or log in: podman login" + host + ", docker login" + host);
}

Status RegistrySession::TakeToken(const RegistryChallenge& challenge) {
  const auto realm = Apart(challenge.realm);
  const auto url =
      realm ? ParseHttpUrl(realm->origin) : Result<HttpUrl>(Status(Code::kCorrupt, ""));
  // The password goes there.
  if (!url.ok() || (!url->tls && !IsLoopback(url->host))) {
    return Status(Code::kUnavailable,
                  ask_.ref.registry + " names no place for logins that is safe");
  }
  // Who pushes asks first what is there, for which less would do.
  const std::string own =
      "repository:" + ask_.ref.repository + (ask_.pushes ? ":pull,push" : ":pull");
  const std::string scope = challenge.scope.empty() || ask_.pushes ? own : challenge.scope;
  std::string query =
      "service=" + PercentEncode(challenge.service) + "&scope=" + PercentEncode(scope);
  RegistryAddress to = *realm;
  HttpRequest request;
  const bool exchange = ask_.login && ask_.login->user == kIdentityToken;
  if (exchange) {
    request.method = "POST";
    request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
    request.body = "grant_type=refresh_token&client_id=stoker&" + query +
                   "&refresh_token=" + PercentEncode(ask_.login->secret);
  } else {
    to.target += (to.target.find('?') == std::string::npos ? "?" : "&") + query;
    if (ask_.login) {
      request.headers = {
          {"Authorization", "Basic " + Base64(ask_.login->user + ":" + ask_.login->secret)}};
    }
  }
  // The realm is often the registry itself, which `ca_file` is for.
  STOKER_ASSIGN(const HttpResponse answer, Send(to, request));
  if (answer.status == 401 || answer.status == 403) return Refused();
  if (answer.status != 200) {
    return Status(CodeOf(answer.status),
                  realm->origin + " gives no token: it answers " + std::to_string(answer.status));
  }
  STOKER_ASSIGN(const json::Value object,
                json::ParseObject(realm->origin, answer.body, kMostManifestBytes));
  for (const char* name : {"token", "access_token"}) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string()) continue;
    const std::string token = found->get<std::string>();
    if (token.size() > kMostToken || Printable(token) != token) break;
    authorization_ = "Bearer " + token;
    return Status::Ok();
  }
  return Status(Code::kUnavailable, realm->origin + " gives no token");
}

Status RegistrySession::LogIn(const HttpResponse& refusal) {
  for (const auto& [name, value] : refusal.headers) {
    if (LowerCase(name) != "www-authenticate") continue;
    const auto challenge = ReadChallenge(value);
    if (!challenge) continue;
    if (challenge->bearer) return TakeToken(*challenge);
    if (!ask_.login) return Refused();
    authorization_ = "Basic " + Base64(ask_.login->user + ":" + ask_.login->secret);
    return Status::Ok();
  }
  return Refused();
}

Result<HttpResponse> RegistrySession::Get(const std::string& target, const std::string& accept) {
  HttpRequest request;
  if (!accept.empty()) request.headers.emplace_back("Accept", accept);
  return Call({origin_, target}, request);
}

Result<HttpResponse> RegistrySession::Call(const HttpRequest& asked) {
  if (const auto apart = Apart(asked.target)) return Call(*apart, asked);
  return Call({origin_, asked.target}, asked);
}

Result<HttpResponse> RegistrySession::Call(RegistryAddress to, const HttpRequest& asked) {
  const bool reads = asked.method == "GET" || asked.method == "HEAD";
  for (int redirects = 0; redirects <= kMostRedirects;) {
    HttpRequest request = asked;
    const bool told = to.origin == origin_ && !authorization_.empty();
    if (told) request.headers.emplace_back("Authorization", authorization_);
    STOKER_ASSIGN(HttpResponse answer, Send(to, request));
    if (redirects == 0) to.origin = origin_;  // it may have become plain
    if (answer.status == 401 && to.origin == origin_ && !told) {
      STOKER_TRY(LogIn(answer));
      continue;
    }
    const std::string* location = FindHeader(answer.headers, "Location");
    if (!reads || answer.status < 300 || answer.status >= 400 || location == nullptr) return answer;
    if (StartsWith(*location, "/")) {
      to.target = *location;
    } else if (const auto next = Apart(*location)) {
      to = *next;
    } else {
      break;
    }
    ++redirects;
  }
  return Status(Code::kUnavailable, ask_.ref.registry + " leads from place to place");
}

// `what`: "manifests/TAG", "blobs/DIGEST".
Result<std::string> RegistrySession::Body(const std::string& what, const std::string& accept) {
  STOKER_ASSIGN(HttpResponse answer, Get("/v2/" + ask_.ref.repository + "/" + what, accept));
  if (answer.status == 200) return std::move(answer.body);
  if (answer.status == 401 || answer.status == 403) return Refused();
  if (answer.status == 404) {
    return Status(Code::kNotFound,
                  Name() + ": the registry has no " + what.substr(what.find('/') + 1),
                  "Correct container.image: name, tag or digest");
  }
  const std::string asks = answer.status == 429 ? " (it is asked too often)" : "";
  return Status(CodeOf(answer.status),
                ask_.ref.registry + " answers " + std::to_string(answer.status) + asks);
}

}  // namespace stoker
