// SPDX-License-Identifier: Apache-2.0
// Google's Secret Manager: "gcp-secret:projects/P/secrets/S/versions/V". Its makers are vault/'s.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "google/token.h"
#include "net/http_message.h"
#include "net/retry.h"
#include "port/vault.h"

namespace stoker::vault {

inline constexpr char kGoogleSecret[] = "gcp-secret";
// As gcloud's.
inline constexpr char kEndpointVariable[] = "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER";
// What that variable says; "" = Google's own.
std::string GoogleSecretsEndpoint();

struct GoogleSecretsOptions {
  std::string project;  // of what is kept for jobs; "" = nothing is
  std::string base;     // "https://secretmanager.googleapis.com"
  // Thread-safe, all of them.
  std::function<Result<GoogleToken>()> token;
  std::function<void(const GoogleToken&)> token_refused;
  std::function<Result<HttpResponse>(const HttpUrl& url, const HttpRequest& request)> http;
  uint64_t seed = 0;
  RetryPolicy retry{4, Duration::Ms(200), Duration::Seconds(5)};
};
std::unique_ptr<Vault> MakeGoogleSecrets(GoogleSecretsOptions options);
// With the credentials and the address that Google's other tools would use.
Result<std::unique_ptr<Vault>> OpenGoogleSecrets(const std::string& project);

}  // namespace stoker::vault
