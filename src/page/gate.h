// SPDX-License-Identifier: Apache-2.0
// Who may ask the page's server for what. Pure but for its one-time token, which is spent.
//
// The browser that opens the URL with the one-time token gets a cookie for it. Everything else
// wants that cookie, and a change also a header that only scripts of the page can send: forms and
// scripts of other sites cannot (they would need CORS, which is never granted). The cookie is named
// by the port, as cookies know no ports; SameSite=Strict keeps it from what other sites cause. Host
// must name this machine, so that a foreign name that resolves to 127.0.0.1 opens nothing. The port
// in it is free: `ssh -L` forwards from another one.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_message.h"

namespace stoker::page {

struct GateSecrets {
  std::string once;     // in the URL
  std::string session;  // in the cookie
  std::string change;   // in the header X-Stoker-Token
  // Spends a token that was made later ('stoker ui --link'); false: it is none. Empty: none are.
  std::function<bool(const std::string& token)> spend_later = {};
};

// Thread-safe.
class Gate {
 public:
  Gate(int port, GateSecrets secrets) : port_(port), secrets_(std::move(secrets)) {}
  // What the request is answered with at once: a refusal, or the exchange of the token for a
  // cookie; nullopt: it may pass. Where `change` is set it is asked to change something.
  std::optional<HttpResponse> Stop(const HttpRequest& request, bool change);
  const std::string& change_token() const { return secrets_.change; }

 private:
  bool HasCookie(const HttpRequest& request) const;
  std::optional<HttpResponse> Exchange(const HttpRequest& request);
  const int port_;
  const GateSecrets secrets_;
  std::atomic<bool> spent_ = false;
};

// The path of a target, decoded once, without its query. nullopt: a trick, such as "..", "//", a
// backslash, a control character, an encoded slash, or no path at all.
std::optional<std::string> PathOf(std::string_view target);
// The value of `name` in the query of a target, decoded; "" = none.
std::string QueryOf(std::string_view target, std::string_view name);

// "default-src 'none'; …" and what else each answer says.
void AddSafeHeaders(HttpHeaders* headers);

}  // namespace stoker::page
