// SPDX-License-Identifier: Apache-2.0
// Requests to the registry of one image, which is told a login if it asks. Inside images/ only.
// Sources: OCI distribution-spec 1.1, distribution's "Token Authentication".
#pragma once

#include <string>

#include "base/status.h"
#include "container/registry_login.h"
#include "images/registry_client.h"
#include "net/http_client.h"

namespace stoker {

struct RegistryAddress {
  std::string origin;  // "https://host:port"
  std::string target;  // "/path?query"
};

// What it was told to be let in is kept between requests. Not thread-safe; `ask` must outlive it.
class RegistrySession {
 public:
  explicit RegistrySession(const RegistryAsk& ask);

  // Any answer but "log in" and, of what only reads, "look elsewhere".
  Result<HttpResponse> Get(const std::string& target, const std::string& accept);
  // The same for any method; the target may be a whole URL, which a registry has given.
  Result<HttpResponse> Call(const HttpRequest& request);
  // `what`: "manifests/TAG", "blobs/DIGEST".
  Result<std::string> Body(const std::string& what, const std::string& accept);
  std::string Name() const { return ask_.ref.registry + "/" + ask_.ref.repository; }
  Status Refused() const;

 private:
  Result<HttpResponse> Call(RegistryAddress to, const HttpRequest& asked);
  Result<HttpResponse> Send(const RegistryAddress& to, HttpRequest request);
  Status LogIn(const HttpResponse& refusal);
  Status TakeToken(const RegistryChallenge& challenge);

  const RegistryAsk& ask_;
  HttpPool own_, others_;
  std::string origin_;
  std::string authorization_;  // a secret
};

}  // namespace stoker
