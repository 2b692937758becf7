// SPDX-License-Identifier: Apache-2.0
#include "cli/gce_offers.h"

#include <utility>

#include "base/json.h"
#include "cli/cloud_offers.h"
#include "ledger/places.h"
#include "net/host.h"
#include "provider/gce/gce_request.h"
#include "provider/gce/gce_resolve.h"
#include "spec/text/infra.h"
#include "store/open_gcs.h"

namespace stoker::cli {
namespace {

constexpr char kGoogleSecretsNext[] =
    "Let the program read them from where its account may, as Secret Manager";

std::string First(std::initializer_list<const char*> variables) {
  for (const char* name : variables) {
    if (const auto value = HostVariable(name)) return *value;
  }
  return "";
}

// They stand in the record with each place where the job may run.
constexpr size_t kMostAttribute = 4096;

// What programs may ask the metadata server for.
std::map<std::string, std::string> AttributesOf(Context& context, const JobSpec& spec) {
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
      context.Say("too long for an attribute of the VMs, so left out there: " + std::string(key));
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

}  // namespace

std::string GoogleProject(const Settings& settings, const GcloudConfig& gcloud) {
  if (!settings.gcp_project.empty()) return settings.gcp_project;
  const std::string given = First({"GOOGLE_CLOUD_PROJECT"});
  return given.empty() ? gcloud.project : given;
}

Result<std::vector<Offer>> ResolveGceOffers(Context& context, const JobSpec& spec) {
  const Infra infra = ParseInfra(spec.resources.infra);
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  const std::string store_url = ledger->store().url();
  STOKER_TRY(CheckReach(spec, store_url, {"gs://"}, "machines of Google", kGoogleSecretsNext));
  STOKER_ASSIGN(const Settings* settings, context.settings());
  const ResourcesSpec& asked = spec.resources;
  GceWish wish;
  GcloudConfig gcloud;
  if (GoogleProject(*settings, gcloud).empty() || infra.where.empty()) {
    // For files and variables alone.
    STOKER_ASSIGN(gcloud, ReadGcloudConfig(HostGoogleEnvironment({})));
  }
  wish.project = GoogleProject(*settings, gcloud);
  wish.region = infra.where.empty() ? UsualRegion(gcloud) : infra.where;
  wish.zone = infra.within;
  wish.type = asked.instance_type;
  wish.image = asked.image_id;
  wish.spot = asked.use_spot;
  wish.cluster = !spec.gcp.placement.empty();
  wish.restart = spec.on_stop == OnStop::kRestart;
  wish.cpus = asked.cpus;
  wish.memory = asked.memory;
  wish.gpus = asked.gpus;
  wish.gpu_name = asked.gpu_name;
  wish.disk_gib = asked.disk_gib;
  wish.labels = asked.labels;
  wish.attributes = AttributesOf(context, spec);
  wish.network = settings->gcp_network;
  wish.subnetwork = settings->gcp_subnetwork;
  wish.service_account = settings->gcp_service_account;
  wish.external_ip = settings->gcp_external_ip != "false";
  wish.storage_endpoint = GcsEmulator();
  STOKER_TRY(CheckEndpoint("the endpoint of Cloud Storage", wish.storage_endpoint,
                           "STORAGE_EMULATOR_HOST"));
  wish.compute_endpoint = ComputeEndpoint();
  STOKER_TRY(CheckEndpoint("the endpoint of Compute Engine", wish.compute_endpoint,
                           "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"));
  STOKER_ASSIGN(const auto api, context.compute());
  return ResolveGce(*api, wish);
}

Status CompleteGce(Context& context, int64_t blob_period, std::vector<Offer>* offers) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  // Whoever clears up looks where anything was made.
  for (const Offer& offer : *offers) {
    const Place& place = offer.ask.place;
    STOKER_TRY(NotePlace(ledger->store(), kGceProvider, GcePlace(place.account, place.zone)));
  }
  return CompleteGceOffers(blob_period, offers);
}

}  // namespace stoker::cli
