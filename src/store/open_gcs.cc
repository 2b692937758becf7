// SPDX-License-Identifier: Apache-2.0
#include "store/open_gcs.h"

#include <utility>

#include "base/text.h"
#include "net/system.h"
#include "store/bucket_url.h"
#include "store/gcs/gcs_store.h"

namespace stoker {
namespace {

// As gcloud's. Beside it, what the system trusts counts.
constexpr char kGcloudCaVariable[] = "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE";

HttpPoolOptions PoolOptions() {
  return SystemPoolOptions(SystemVariable(kGcloudCaVariable).value_or(""));
}

GoogleToken NoToken() {
  GoogleToken none;
  none.source = "none: STORAGE_EMULATOR_HOST is set";
  return none;
}

std::shared_ptr<GoogleCredentialSource> HostSource() {
  return std::make_shared<GoogleCredentialSource>(
      SystemGoogleEnvironment(SystemCredentialSender(PoolOptions())));
}

}  // namespace

// "host:port" is what some of Google's clients take, and "http://host:port" others.
std::string GcsEmulator() {
  const std::string host = SystemVariable("STORAGE_EMULATOR_HOST").value_or("");
  return host.empty() || host.find("://") != std::string::npos ? host : "http://" + host;
}

Result<GcsStoreOptions> FindGcsOptions(const std::string& url) {
  GcsStoreOptions options;
  BucketUrl place = ParseBucketUrl(url);
  options.client.bucket = std::move(place.bucket);
  options.prefix = std::move(place.prefix);
  options.client.endpoint = GcsEmulator();
  if (!options.client.endpoint.empty()) {
    options.client.token = []() -> Result<GoogleToken> { return NoToken(); };
  } else {
    auto source = HostSource();
    options.client.token = [source] { return source->Get(); };
    options.client.token_refused = [source](const GoogleToken& token) { source->Reject(token); };
  }
  options.client.now = SystemNow;
  options.client.http = PoolOptions();
  options.seed = SystemSeed();
  return options;
}

Result<std::unique_ptr<ObjectStore>> OpenGcs(
    const std::string& url, std::function<bool()> stopped,
    std::function<std::string(const std::string& key)> type_of) {
  STOKER_ASSIGN(GcsStoreOptions options, FindGcsOptions(url));
  options.stopped = std::move(stopped);
  options.type_of = std::move(type_of);
  STOKER_ASSIGN(auto store, GcsStore::Open(std::move(options)));
  return std::unique_ptr<ObjectStore>(std::move(store));
}

Result<GoogleToken> FindGcsCredentials() {
  if (!GcsEmulator().empty()) return NoToken();
  return HostSource()->Get();
}

}  // namespace stoker
