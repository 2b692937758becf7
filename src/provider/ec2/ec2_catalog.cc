// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_catalog.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <pugixml.hpp>

#include "base/json.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/api/ec2_lists.h"
#include "provider/ec2/ec2_request.h"

namespace stoker::ec2 {
namespace {

constexpr int64_t kMib = 1 << 20;
constexpr Duration kWhile = Duration::Minutes(10);  // prices of spot move slowly

bool Has(const pugi::xml_node& set, const std::string& value) {
  for (const pugi::xml_node item : set.children("item")) {
    if (value == item.child_value()) return true;
  }
  return false;
}

MachineType TypeOf(const pugi::xml_node& item) {
  MachineType type;
  type.name = TextIn(item, "instanceType");
  type.cpus = NumberIn(item.child("vCpuInfo"), "defaultVCpus");
  type.memory_mib = NumberIn(item.child("memoryInfo"), "sizeInMiB");
  for (const pugi::xml_node gpu : item.child("gpuInfo").child("gpus").children("item")) {
    type.gpus += NumberIn(gpu, "count");
    type.gpu_name = TextIn(gpu, "name");
    type.gpu_memory_mib = NumberIn(gpu.child("memoryInfo"), "sizeInMiB");
  }
  type.x86_64 = Has(item.child("processorInfo").child("supportedArchitectures"), "x86_64");
  type.spot = Has(item.child("supportedUsageClasses"), "spot");
  type.on_demand = Has(item.child("supportedUsageClasses"), "on-demand");
  type.cluster = Has(item.child("placementGroupInfo").child("supportedStrategies"), "cluster");
  const pugi::xml_node network = item.child("networkInfo");
  if (TextIn(network, "efaSupported") == "true") {
    type.efa = std::max<int64_t>(NumberIn(network.child("efaInfo"), "maximumEfaInterfaces"), 1);
  }
  return type;
}

// "A100-80GB" is an A100 with that much.
bool IsKind(const MachineType& type, const std::string& wanted) {
  const std::string kind = LowerCase(wanted);
  const std::string name = LowerCase(type.gpu_name);
  if (kind == name) return true;
  const size_t dash = kind.rfind('-');
  if (dash == std::string::npos || !EndsWith(kind, "gb") || kind.substr(0, dash) != name) {
    return false;
  }
  const auto gb = WholeNumber(kind.substr(dash + 1, kind.size() - dash - 3), 1, 10'000);
  return gb && std::llabs(type.gpu_memory_mib - *gb * 1000) < *gb * 1000 / 10;
}

bool Fits(const MachineType& type, const MachineWish& wish) {
  if (!type.x86_64 || (wish.spot ? !type.spot : !type.on_demand)) return false;
  if (!Lacks(type, wish).empty()) return false;
  if (type.gpus < wish.gpus || type.cpus * 1000 < wish.cpus_thousandths) return false;
  if (type.memory_mib * kMib < wish.memory_bytes) return false;
  // A GPU that nobody asked for is paid for all the same.
  if (wish.gpus == 0 && type.gpus > 0) return false;
  return wish.gpu_name.empty() || IsKind(type, wish.gpu_name);
}

}  // namespace

std::string Lacks(const MachineType& type, const MachineWish& wish) {
  if (wish.cluster && !type.cluster) return "cannot be placed in a cluster";
  if (wish.efa && type.efa == 0) return "has no EFA";
  return "";
}

std::vector<MachineType> FitTypes(const std::vector<MachineType>& all, const MachineWish& wish) {
  std::vector<MachineType> fit;
  std::copy_if(all.begin(), all.end(), std::back_inserter(fit),
               [&](const MachineType& type) { return Fits(type, wish); });
  std::sort(fit.begin(), fit.end(), [](const MachineType& a, const MachineType& b) {
    return std::tie(a.gpus, a.cpus, a.memory_mib, a.name) <
           std::tie(b.gpus, b.cpus, b.memory_mib, b.name);
  });
  return fit;
}

Status NothingFits(const std::string& region, const std::vector<MachineType>& all,
                   const MachineWish& wish) {
  std::set<std::string> kinds;
  int64_t most = 0;
  for (const MachineType& type : all) {
    if (type.gpu_name.empty() || !type.x86_64) continue;
    kinds.insert(type.gpu_name);
    if (!wish.gpu_name.empty() && IsKind(type, wish.gpu_name)) most = std::max(most, type.gpus);
  }
  const std::vector<std::string> known(kinds.begin(), kinds.end());
  if (!wish.gpu_name.empty() && most == 0) {
    const std::string near = Nearest(wish.gpu_name, known);
    return Status(
        Code::kInvalid,
        "no machine of EC2 in " + region + " has GPUs of the kind " + Printable(wish.gpu_name),
        near.empty() ? "There are: " + Join(known, ", ") : "Did you mean " + near + "?");
  }
  std::string what = "no machine of EC2 in " + region + " has as much as is asked for";
  if (most > 0 && most < wish.gpus) {
    what += ": one has at most " + std::to_string(most) + " " + Printable(wish.gpu_name);
  }
  return Status(Code::kInvalid, what, "Ask for less of each, or for more nodes with --num-nodes");
}

Result<std::vector<std::string>> Regions(AwsApi& api, const std::string& asked_in) {
  std::vector<std::string> out;
  STOKER_TRY(EachItem(api, {"ec2", asked_in, "DescribeRegions"}, "regionInfo",
                      [&](const auto& item) { out.push_back(TextIn(item, "regionName")); }));
  return out;
}

Result<std::vector<std::string>> Zones(AwsApi& api, const std::string& region) {
  std::vector<std::string> out;
  const Params params = Filters({{"zone-type", {"availability-zone"}}, {"state", {"available"}}});
  STOKER_TRY(EachItem(api, Lasting(region, "DescribeAvailabilityZones", params, kDay),
                      "availabilityZoneInfo",
                      [&](const auto& item) { out.push_back(TextIn(item, "zoneName")); }));
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<MachineType>> AllTypes(AwsApi& api, const std::string& region) {
  std::vector<MachineType> out;
  const Params params = Filters({{"processor-info.supported-architecture", {"x86_64"}},
                                 {"current-generation", {"true"}},
                                 {"bare-metal", {"false"}}},
                                {{"MaxResults", "100"}});
  STOKER_TRY(EachItem(api, Lasting(region, "DescribeInstanceTypes", params, kDay),
                      "instanceTypeSet", [&](const auto& item) { out.push_back(TypeOf(item)); }));
  return out;
}

Result<MachineType> OneType(AwsApi& api, const std::string& region, const std::string& name) {
  std::vector<MachineType> out;
  // A filter of a name that is not there is an empty list, not an error.
  const Params params = Filters({{"instance-type", {name}}});
  STOKER_TRY(EachItem(api, Lasting(region, "DescribeInstanceTypes", params, kDay),
                      "instanceTypeSet", [&](const auto& item) { out.push_back(TypeOf(item)); }));
  if (out.size() != 1) {
    return Status(Code::kNotFound, "there is no type " + Printable(name) + " in " + region);
  }
  return out[0];
}

Result<std::vector<std::string>> TypeNames(AwsApi& api, const std::string& region) {
  std::vector<std::string> out;
  STOKER_TRY(EachItem(api, {"ec2", region, "DescribeInstanceTypeOfferings", {}},
                      "instanceTypeOfferingSet",
                      [&](const auto& item) { out.push_back(TextIn(item, "instanceType")); }));
  return out;
}

Result<std::map<std::string, std::set<std::string>>> Offerings(
    AwsApi& api, const std::string& region, const std::vector<std::string>& types) {
  std::map<std::string, std::set<std::string>> out;
  const Params params =
      Filters({{"instance-type", types}}, {{"LocationType", "availability-zone"}});
  STOKER_TRY(EachItem(api, Lasting(region, "DescribeInstanceTypeOfferings", params, kDay),
                      "instanceTypeOfferingSet", [&](const auto& item) {
                        out[TextIn(item, "instanceType")].insert(TextIn(item, "location"));
                      }));
  return out;
}

Result<Image> FindImage(AwsApi& api, const std::string& region, const std::string& id) {
  std::vector<Image> out;
  const Params params = Filters({{"image-id", {id}}});
  STOKER_TRY(EachItem(
      api, Lasting(region, "DescribeImages", params, kDay), "imagesSet", [&](const auto& item) {
        Image image;
        image.id = TextIn(item, "imageId");
        image.name = TextIn(item, "name");
        image.architecture = TextIn(item, "architecture");
        image.state = TextIn(item, "imageState");
        image.root = TextIn(item, "rootDeviceName");
        for (const pugi::xml_node disk : item.child("blockDeviceMapping").children("item")) {
          if (disk.child("ebs")) image.disks.push_back({TextIn(disk, "deviceName"), 0});
        }
        out.push_back(std::move(image));
      }));
  if (out.size() == 1) return out[0];
  return Status(Code::kNotFound, "there is no image " + Printable(id) + " in " + region,
                "Images belong to one region; is it private to another account?");
}

Result<std::string> Parameter(AwsApi& api, const std::string& region, const std::string& name) {
  Call call{"ssm", region, "GetParameter"};
  call.json = nlohmann::json{{"Name", name}}.dump();
  call.good_for = kDay;
  STOKER_ASSIGN(const std::string body, api.Read(call));
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (json.is_object() && json.contains("Parameter") && json["Parameter"].is_object() &&
      json["Parameter"].contains("Value") && json["Parameter"]["Value"].is_string()) {
    return json["Parameter"]["Value"].get<std::string>();
  }
  return Status(Code::kCorrupt, Described(call) + ": the answer has no value");
}

Result<Reservation> FindReservation(AwsApi& api, const std::string& region, const std::string& id) {
  std::vector<Reservation> out;
  const Call call{"ec2", region, "DescribeCapacityReservations", {{"CapacityReservationId.1", id}}};
  const Status told = EachItem(api, call, "capacityReservationSet", [&](const auto& item) {
    if (TextIn(item, "capacityReservationId") != id) return;
    out.push_back({TextIn(item, "instanceType"), TextIn(item, "availabilityZone"),
                   TextIn(item, "state"), TextIn(item, "startDate"),
                   NumberIn(item, "totalInstanceCount"),
                   TextIn(item, "reservationType") == "capacity-block"});
  });
  if (told.ok() && out.size() == 1) return out[0];
  if (!told.ok() && !told.Is(Code::kNotFound)) return told;
  return Status(Code::kNotFound,
                "there is no capacity reservation " + Printable(id) + " in " + region,
                "See: aws ec2 describe-capacity-reservations --region " + region);
}

Result<std::map<std::pair<std::string, std::string>, int64_t>> SpotPrices(
    AwsApi& api, const std::string& region, const std::vector<std::string>& types) {
  std::map<std::pair<std::string, std::string>, int64_t> out;
  // What was last before then; whole steps, so that the question is the same for a while.
  const WallTime now{api.Now().ms / kWhile.ms * kWhile.ms};
  Params params = {{"StartTime", FormatRfc3339(now)}, {"ProductDescription.1", "Linux/UNIX"}};
  for (size_t i = 0; i < types.size(); ++i) {
    params.emplace_back("InstanceType." + std::to_string(i + 1), types[i]);
  }
  std::map<std::pair<std::string, std::string>, std::string> newest;
  STOKER_TRY(EachItem(
      api, Lasting(region, "DescribeSpotPriceHistory", params, kWhile), "spotPriceHistorySet",
      [&](const auto& item) {
        const std::pair key{TextIn(item, "instanceType"), TextIn(item, "availabilityZone")};
        const std::string at = TextIn(item, "timestamp");
        const double price = item.child("spotPrice").text().as_double(-1);
        const bool sane = std::isfinite(price) && price > 0 && price < 100'000;
        if (!sane || newest[key] > at) return;
        newest[key] = at;
        out[key] = static_cast<int64_t>(std::llround(price * 1e6));
      }));
  return out;
}

std::string Account(AwsApi& api, const std::string& region) {
  Call call{"sts", region, "GetCallerIdentity"};
  call.good_for = kDay;
  const auto body = api.Read(call);
  if (!body.ok()) return "";
  pugi::xml_document document;
  (void)document.load_buffer(body->data(), body->size());
  return TextIn(document.child("GetCallerIdentityResponse").child("GetCallerIdentityResult"),
                "Account");
}

}  // namespace stoker::ec2
