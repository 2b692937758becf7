// SPDX-License-Identifier: Apache-2.0
// How this machine's user reaches Compute Engine, and what else of Google speaks like it.
#include <memory>
#include <utility>

#include "base/text.h"
#include "google/credential_source.h"
#include "net/http_client.h"
#include "net/system.h"
#include "provider/gce/compute_api.h"
#include "provider/gce/gce_provider.h"

namespace stoker {
namespace {

constexpr char kGoogle[] = "https://compute.googleapis.com/compute/v1";
constexpr char kGoogleLogging[] = "https://logging.googleapis.com";
constexpr char kGooglePubSub[] = "https://pubsub.googleapis.com";
// As a notifier's (notify/http_notifier.h).
constexpr HttpTimeouts kSoon{Duration::Seconds(3), Duration::Seconds(5), Duration::Seconds(5)};
// As gcloud's.
constexpr char kCaVariable[] = "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE";

// A name, gcloud's variable for its address, and that of Google's.
struct Service {
  const char* name;
  const char* variable;
  const char* google;
};
constexpr Service kServices[] = {
    {"artifactregistry", "CLOUDSDK_API_ENDPOINT_OVERRIDES_ARTIFACTREGISTRY",
     "https://artifactregistry.googleapis.com"},
    {"cloudresourcemanager", "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER",
     "https://cloudresourcemanager.googleapis.com"},
    {"cloudscheduler", "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDSCHEDULER",
     "https://cloudscheduler.googleapis.com"},
    {"iam", "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAM", "https://iam.googleapis.com"},
    {"run", "CLOUDSDK_API_ENDPOINT_OVERRIDES_RUN", "https://run.googleapis.com"}};

std::shared_ptr<GoogleCredentialSource> Source(const HttpPoolOptions& http,
                                               const char* scope = kComputeScope) {
  return std::make_shared<GoogleCredentialSource>(
      SystemGoogleEnvironment(SystemCredentialSender(http)), scope);
}

HttpPoolOptions PoolOptions() { return SystemPoolOptions(GoogleCaFile()); }

Result<std::shared_ptr<gce::ComputeApi>> MakeApi(const std::string& own, const char* google,
                                                 const std::optional<HttpTimeouts>& timeouts = {},
                                                 const char* scope = kComputeScope) {
  gce::ComputeApiOptions options;
  options.base = own.empty() ? google : own;
  while (EndsWith(options.base, "/")) options.base.pop_back();
  HttpPoolOptions http = PoolOptions();
  if (timeouts) http.timeouts = *timeouts;
  const auto source = Source(http, scope);
  options.token = [source] { return source->Get(); };
  options.token_refused = [source](const GoogleToken& token) { source->Reject(token); };
  options.now = SystemNow;
  options.seed = SystemSeed();
  auto pool = std::make_shared<HttpPool>(http);
  options.http = [pool](const HttpUrl& url, const HttpRequest& request) {
    return pool->Call(url, request);
  };
  return std::make_shared<gce::ComputeApi>(std::move(options));
}

}  // namespace

std::string ComputeEndpoint() {
  return SystemVariable("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE").value_or("");
}

std::string LoggingEndpoint() { return SystemVariable(kLoggingEndpointVariable).value_or(""); }

Result<std::shared_ptr<gce::ComputeApi>> MakeComputeApi() {
  return MakeApi(ComputeEndpoint(), kGoogle);
}

Result<std::shared_ptr<gce::ComputeApi>> MakeLoggingApi() {
  return MakeApi(LoggingEndpoint(), kGoogleLogging);
}

Result<std::shared_ptr<gce::ComputeApi>> MakePubSubApi() {
  const char* own = "CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB";
  return MakeApi(SystemVariable(own).value_or(""), kGooglePubSub, kSoon);
}

Result<std::string> GoogleServiceUrl(const std::string& service) {
  for (const Service& one : kServices) {
    if (service != one.name) continue;
    std::string url = SystemVariable(one.variable).value_or(one.google);
    while (EndsWith(url, "/")) url.pop_back();
    return url;
  }
  return Status(Code::kInvalid, "no service of Google's: " + Printable(service));
}

Result<std::shared_ptr<gce::ComputeApi>> MakeServiceApi(const std::string& service) {
  STOKER_ASSIGN(const std::string url, GoogleServiceUrl(service));
  return MakeApi(url, "", {}, kCloudScope);
}

Result<GoogleToken> GoogleCloudToken() { return Source(PoolOptions(), kCloudScope)->Get(); }

std::string GoogleCaFile() { return SystemVariable(kCaVariable).value_or(""); }

bool CanPublish() {
  HttpPoolOptions http = PoolOptions();
  http.timeouts = kSoon;
  return Source(http)->Get().ok();
}

}  // namespace stoker
