// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_resolve.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"
#include "provider/cloud/image_words.h"
#include "provider/gce/gce_catalog.h"
#include "provider/gce/gce_options.h"
#include "provider/gce/gce_placement.h"
#include "provider/gce/gce_request.h"

namespace stoker {
namespace gce {
namespace {

constexpr char kUsualImage[] = "projects/debian-cloud/global/images/family/debian-12";
constexpr char kGpuImage[] =
    "projects/deeplearning-platform-release/global/images/family/"
    "common-cu128-ubuntu-2204-nvidia-570";
// Who asks for nothing gets a machine on which an interpreter and a data set fit.
constexpr int64_t kLeastCpus = 2000;
constexpr int64_t kLeastMemory = int64_t{4} << 30;
constexpr int64_t kMib = 1 << 20;
// Each attached GPU wants some processors beside it.
constexpr int64_t kCpusForEach = 4;

// What one zone has.
struct ZoneCatalog {
  std::string zone;
  std::vector<MachineType> types;
  std::vector<Accelerator> accelerators;
};

struct Way {
  std::string zone;
  MachineType type;
  std::string accelerator;  // attached
  int64_t accelerators = 0;
};

Status NearIs(const std::string& what, const std::string& word,
              const std::vector<std::string>& known) {
  const std::string near = Nearest(word, known);
  return Status(Code::kInvalid, what,
                near.empty() ? "There are: " + Join(known, ", ") : "Did you mean " + near + "?");
}

Result<std::vector<std::string>> ZonesOf(ComputeApi& api, const GceWish& wish) {
  auto zones = Zones(api, wish.project, wish.region);
  if (zones.status().Is(Code::kNotFound)) {
    STOKER_ASSIGN(const std::vector<std::string> regions, Regions(api, wish.project));
    return NearIs("Google has no region '" + Printable(wish.region) + "'", wish.region, regions);
  }
  if (!zones.ok() || wish.zone.empty()) return zones;
  if (std::find(zones->begin(), zones->end(), wish.zone) == zones->end()) {
    return NearIs("there is no zone '" + Printable(wish.zone) + "' in " + wish.region, wish.zone,
                  *zones);
  }
  return zones;
}

bool Fits(const MachineType& type, const GceWish& wish) {
  if (wish.cluster && !TakesPlacement(type.name)) return false;
  return type.x86_64 && !type.shared && type.cpus * 1000 >= wish.cpus.value_or(kLeastCpus) &&
         type.memory_mib * kMib >= wish.memory.value_or(kLeastMemory);
}

bool IsGpu(const std::string& accelerator, const GceWish& wish) {
  return wish.gpu_name.empty() || IsKind(accelerator, wish.gpu_name);
}

// Cheap ones first; what is not named here comes after them.
int FamilyRank(const std::string& name) {
  const char* const families[] = {"e2-", "n2d-", "n2-", "n1-", "n4-"};
  int rank = 0;
  for (const char* family : families) {
    if (StartsWith(name, family)) return rank;
    ++rank;
  }
  return rank;
}

bool IsSmaller(const MachineType& a, const MachineType& b) {
  const int rank_a = FamilyRank(a.name), rank_b = FamilyRank(b.name);
  return std::tie(a.gpus, a.cpus, rank_a, a.memory_mib, a.name) <
         std::tie(b.gpus, b.cpus, rank_b, b.memory_mib, b.name);
}

// What brings its GPUs, else what they are attached to.
std::optional<Way> SmallestIn(const ZoneCatalog& there, const GceWish& wish) {
  const int64_t gpus = wish.gpus.value_or(0);
  std::optional<Way> best;
  for (const MachineType& type : there.types) {
    // A GPU that nobody asked for is paid for all the same.
    const bool enough = gpus == 0 ? type.gpus == 0 : type.gpus >= gpus && IsGpu(type.gpu, wish);
    if (!enough || !Fits(type, wish)) continue;
    if (!best || IsSmaller(type, best->type)) best = Way{there.zone, type, "", 0};
  }
  if (best || gpus == 0) return best;
  for (const Accelerator& each : there.accelerators) {
    if (!StartsWith(each.name, "nvidia-tesla-") || !IsGpu(each.name, wish)) continue;
    int64_t count = 1;
    while (count < gpus) count *= 2;
    if (count > each.most) continue;
    for (const MachineType& type : there.types) {
      const bool host = StartsWith(type.name, "n1-") && type.cpus >= kCpusForEach * count;
      if (!host || !Fits(type, wish)) continue;
      if (!best || IsSmaller(type, best->type)) best = Way{there.zone, type, each.name, count};
    }
  }
  return best;
}

std::optional<Way> GivenIn(const ZoneCatalog& there, const GceWish& wish) {
  const auto type = std::find_if(there.types.begin(), there.types.end(),
                                 [&](const MachineType& each) { return each.name == wish.type; });
  if (type == there.types.end()) return std::nullopt;
  const int64_t gpus = wish.gpus.value_or(0);
  if (gpus == 0 || (type->gpus >= gpus && IsGpu(type->gpu, wish))) {
    return Way{there.zone, *type, "", 0};
  }
  for (const Accelerator& each : there.accelerators) {
    if (StartsWith(type->name, "n1-") && IsGpu(each.name, wish) && gpus <= each.most) {
      return Way{there.zone, *type, each.name, gpus};
    }
  }
  return std::nullopt;
}

Status NothingIn(const GceWish& wish, const std::vector<ZoneCatalog>& all,
                 const std::vector<std::string>& others) {
  const std::string where = wish.zone.empty() ? wish.region : wish.zone;
  if (!others.empty()) {
    const std::string what =
        wish.type.empty() ? wish.gpu_name.empty() ? "such a machine" : wish.gpu_name : wish.type;
    return Status(Code::kInvalid, "the zone " + where + " does not have " + Printable(what),
                  "These have: " + Join(others, ", "));
  }
  std::set<std::string> types, kinds;
  for (const ZoneCatalog& there : all) {
    for (const MachineType& type : there.types) {
      types.insert(type.name);
      if (!type.gpu.empty()) kinds.insert(KindName(type.gpu));
    }
    for (const Accelerator& each : there.accelerators) kinds.insert(KindName(each.name));
  }
  if (!wish.type.empty() && !types.contains(wish.type)) {
    const std::string near = Nearest(wish.type, {types.begin(), types.end()});
    return Status(
        Code::kInvalid, "there is no type '" + Printable(wish.type) + "' in " + wish.region,
        near.empty() ? "See: gcloud compute machine-types list" : "Did you mean " + near + "?");
  }
  const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const std::string& kind) {
    return IsKind(kind, wish.gpu_name);
  });
  if (!wish.gpu_name.empty() && !known) {
    return NearIs("no machine of Google in " + wish.region + " has GPUs of the kind " +
                      Printable(wish.gpu_name),
                  wish.gpu_name, {kinds.begin(), kinds.end()});
  }
  return Status(Code::kInvalid, "no machine of Google in " + where + " has as much as is asked for",
                "Ask for less of each, or for more nodes with --num-nodes");
}

Result<std::vector<Way>> WaysOf(ComputeApi& api, const GceWish& wish,
                                const std::vector<std::string>& zones) {
  std::vector<ZoneCatalog> all;
  std::vector<Way> ways;
  std::vector<std::string> others;  // zones that have it, but were not asked for
  for (const std::string& zone : zones) {
    ZoneCatalog there{zone, {}, {}};
    STOKER_ASSIGN(there.types, Types(api, wish.project, zone));
    if (wish.gpus.value_or(0) > 0) {
      STOKER_ASSIGN(there.accelerators, Accelerators(api, wish.project, zone));
    }
    const auto way = wish.type.empty() ? SmallestIn(there, wish) : GivenIn(there, wish);
    const bool asked = wish.zone.empty() || wish.zone == zone;
    if (way && asked) ways.push_back(*way);
    if (way && !asked) others.push_back(zone);
    all.push_back(std::move(there));
  }
  if (ways.empty()) return NothingIn(wish, all, others);
  if (!ways.front().type.x86_64) {
    return Status(
        Code::kInvalid,
        ways.front().type.name + " has another processor than x86-64, for which this stoker is",
        "Name another type");
  }
  return ways;
}

Result<Image> ImageOf(ComputeApi& api, const GceWish& wish, bool gpus) {
  std::string name = wish.image;
  if (name.empty()) name = gpus ? kGpuImage : kUsualImage;
  STOKER_ASSIGN(Image image, FindImage(api, name));
  if (!image.x86_64) {
    return Status(Code::kInvalid,
                  image.path + " is for ARM64, and this stoker is a program for x86-64",
                  "Name an image for x86-64");
  }
  if (wish.disk_gib && *wish.disk_gib < image.disk_gib) {
    return Status(Code::kInvalid,
                  "a disk of " + std::to_string(*wish.disk_gib) + " GiB is smaller than " +
                      image.path + ", which has " + std::to_string(image.disk_gib),
                  "Ask for more with 'disk_size', or leave it out");
  }
  return image;
}

// What is refused without asking anybody.
Status CheckWish(const GceWish& wish) {
  if (wish.project.empty()) {
    return Status(Code::kInvalid, "no project of Google is set",
                  "Set it: stoker config set gcp.project PROJECT, or GOOGLE_CLOUD_PROJECT");
  }
  if (wish.region.empty()) {
    return Status(Code::kInvalid, "no region of Google is set",
                  "Write infra: gcp/REGION, or set CLOUDSDK_COMPUTE_REGION");
  }
  if (wish.cluster && !wish.type.empty() && !TakesPlacement(wish.type)) {
    return Status(Code::kInvalid,
                  "machines of type " + Printable(wish.type) + " cannot be placed near each other",
                  "Name a type of another family, as c2 or a2, or remove 'gcp.placement'");
  }
  for (const auto& [key, value] : wish.labels) STOKER_TRY(CheckLabel(key, value));
  return Status::Ok();
}

Result<Options> OptionsOf(ComputeApi& api, const GceWish& wish) {
  Options options;
  if (!wish.subnetwork.empty()) {
    STOKER_ASSIGN(options.subnetwork,
                  FindSubnetwork(api, wish.project, wish.region, wish.subnetwork));
  }
  if (wish.subnetwork.empty() || !wish.network.empty()) {
    const std::string name = wish.network.empty() ? "default" : wish.network;
    STOKER_ASSIGN(options.network, FindNetwork(api, wish.project, name, wish.subnetwork.empty()));
  }
  options.external_ip = wish.external_ip;
  if (wish.cluster) options.placement = kCluster;
  options.restart = wish.restart;
  options.service_account =
      wish.service_account.empty() ? UsualServiceAccount(wish.project) : wish.service_account;
  options.disk_gib = wish.disk_gib.value_or(0);
  for (const auto& [key, value] : wish.labels) options.labels.push_back({key, value});
  for (const auto& [key, value] : wish.attributes) options.attributes.push_back({key, value});
  options.storage_endpoint = wish.storage_endpoint;
  options.compute_endpoint = wish.compute_endpoint;
  options.secrets_endpoint = wish.secrets_endpoint;
  options.logs_endpoint = wish.logs_endpoint;
  return options;
}

}  // namespace
}  // namespace gce

std::string UsualServiceAccount(const std::string& project) {
  return "stoker@" + project + ".iam.gserviceaccount.com";
}

Result<std::vector<Offer>> ResolveGce(gce::ComputeApi& api, const GceWish& wish) {
  STOKER_TRY(gce::CheckWish(wish));
  STOKER_ASSIGN(const std::vector<std::string> zones, gce::ZonesOf(api, wish));
  STOKER_ASSIGN(const std::vector<gce::Way> ways, gce::WaysOf(api, wish, zones));
  const auto has_gpus = [](const gce::Way& way) { return way.type.gpus + way.accelerators > 0; };
  STOKER_ASSIGN(const gce::Image image, gce::ImageOf(api, wish, has_gpus(ways.front())));
  STOKER_ASSIGN(gce::Options options, gce::OptionsOf(api, wish));
  if (options.disk_gib == 0) options.disk_gib = image.disk_gib;  // by which it can be bound
  std::vector<Offer> offers;
  for (const gce::Way& way : ways) {
    options.disk_type = gce::DiskTypeFor(way.type.name);
    options.accelerator = way.accelerator;
    options.accelerators = way.accelerators;
    options.gpus = way.type.gpus + way.accelerators;
    Offer offer;
    offer.ask.place = {kGceProvider, wish.project, wish.region, way.zone};
    offer.ask.type = way.type.name;
    offer.ask.image = image.path;
    offer.ask.market = wish.spot ? gce::kSpot : gce::kStandard;
    offer.ask.options = gce::EncodeOptions(options);
    offers.push_back(std::move(offer));
  }
  // What would be refused for its length is refused here.
  LaunchRequest trial;
  trial.token = "trial";
  trial.job = "trial";
  trial.launches = {1};
  trial.ask = offers.front().ask;
  STOKER_TRY(gce::LaunchBody(trial, options, "", {}).status());
  if (!wish.say) return offers;
  for (const std::string& remark :
       cloud::ImageRemarks({gce::LastPart(image.path), wish.disk_gib.value_or(image.disk_gib),
                            has_gpus(ways.front()), wish.packages})) {
    wish.say(remark);
  }
  return offers;
}

Status CompleteGceOffers(int64_t blob_period, std::vector<Offer>* offers) {
  for (Offer& offer : *offers) {
    STOKER_ASSIGN(gce::Options options, gce::ParseOptions(offer.ask.options));
    options.blob_period = blob_period;
    offer.ask.options = gce::EncodeOptions(options);
  }
  return Status::Ok();
}

}  // namespace stoker
