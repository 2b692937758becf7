// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_offers.h"

#include <utility>

#include "base/json.h"
#include "google/gcloud_config.h"
#include "net/system.h"
#include "provider/gce/gce_request.h"
#include "spec/places/gce/section.h"
#include "store/open_gcs.h"
#include "vault/google_secrets.h"

namespace stoker {
namespace {

std::string First(std::initializer_list<const char*> variables) {
  for (const char* name : variables) {
    if (const auto value = SystemVariable(name)) return *value;
  }
  return "";
}

// They stand in the record with each place where the job may run.
constexpr size_t kMostAttribute = 4096;

// What programs may ask the metadata server for.
std::map<std::string, std::string> AttributesOf(
    const JobSpec& spec, const std::function<void(const std::string&)>& say) {
  auto hyperparameters = nlohmann::ordered_json::object();
  for (const auto& [name, value] : spec.hyperparameters) {
    hyperparameters[name] = nlohmann::ordered_json::parse(value, nullptr, false);
  }
  auto inputs = nlohmann::ordered_json::object();
  for (const InputSpec& input : spec.inputs) inputs[input.name] = input.source;
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : {std::pair(gce::kHyperparametersKey, &hyperparameters),
                                   std::pair(gce::kInputsKey, &inputs)}) {
    if (value->empty()) continue;
    std::string text =
        value->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    if (text.size() <= kMostAttribute) {
      out[key] = std::move(text);
    } else {
      say("too long for an attribute of the VMs, so left out there: " + std::string(key));
    }
  }
  return out;
}

std::string UsualRegion(const GcloudConfig& gcloud) {
  if (!gcloud.region.empty()) return gcloud.region;
  const std::string given = First({"GOOGLE_CLOUD_REGION"});
  if (!given.empty() || gcloud.zone.empty()) return given;
  return gcloud.zone.substr(0, gcloud.zone.rfind('-'));
}

// The setting, else what Google's other tools have: GOOGLE_CLOUD_PROJECT, else `gcloud`'s own. "" =
// none is set.
std::string ProjectOf(const Settings& settings, const GcloudConfig& gcloud) {
  std::string given = settings.Of(kGcpProject);
  if (given.empty()) given = First({"GOOGLE_CLOUD_PROJECT"});
  return given.empty() ? gcloud.project : given;
}

}  // namespace

Status CheckGceReach(const OfferAsk& ask) {
  return cloud::CheckReach(ask, {"gs://"}, "machines of Google");
}

Result<GceWish> GceWishOf(const OfferAsk& ask, const Settings& settings,
                          const std::function<void(const std::string&)>& say) {
  GcloudConfig gcloud;
  if (ProjectOf(settings, gcloud).empty() || ask.where.empty()) {
    // For files and variables alone.
    STOKER_ASSIGN(gcloud, ReadGcloudConfig(SystemGoogleEnvironment({})));
  }
  GceWish wish{cloud::WishOf(ask)};
  wish.say = say;
  wish.project = ProjectOf(settings, gcloud);
  if (wish.region.empty()) wish.region = UsualRegion(gcloud);
  wish.cluster = !ask.spec.sections.gcp.placement.empty();
  wish.restart = ask.spec.on_stop == OnStop::kRestart;
  wish.attributes = AttributesOf(ask.spec, say);
  wish.network = settings.Of(kGcpNetwork);
  wish.subnetwork = settings.Of(kGcpSubnetwork);
  wish.service_account = settings.Of(kGcpServiceAccount);
  wish.external_ip = settings.Of(kGcpExternalIp) != "false";
  wish.storage_endpoint = GcsEmulator();
  STOKER_TRY(cloud::CheckEndpoint("the endpoint of Cloud Storage", wish.storage_endpoint,
                                  "STORAGE_EMULATOR_HOST"));
  wish.compute_endpoint = ComputeEndpoint();
  STOKER_TRY(cloud::CheckEndpoint("the endpoint of Compute Engine", wish.compute_endpoint,
                                  "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"));
  if (ask.spec.logs.cloud) {
    wish.logs_endpoint = LoggingEndpoint();
    STOKER_TRY(cloud::CheckEndpoint("the endpoint of Cloud Logging", wish.logs_endpoint,
                                    kLoggingEndpointVariable));
  }
  if (ask.spec.logs.days && say) {
    say("logs.retention is not set at Google: the log bucket _Default of the project keeps lines "
        "for 30 days, unless the project says otherwise");
  }
  if (ask.spec.secrets.empty()) return wish;
  wish.secrets_endpoint = vault::GoogleSecretsEndpoint();
  STOKER_TRY(cloud::CheckEndpoint("the endpoint of Secret Manager", wish.secrets_endpoint,
                                  vault::kEndpointVariable));
  return wish;
}

}  // namespace stoker
