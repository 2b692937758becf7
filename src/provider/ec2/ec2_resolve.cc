// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_resolve.h"

#include <algorithm>
#include <cstdlib>
#include <future>

#include "aws/config.h"
#include "base/text.h"
#include "provider/cloud/image_words.h"
#include "provider/ec2/api/ec2_role.h"
#include "provider/ec2/api/ec2_way_out.h"
#include "provider/ec2/ec2_catalog.h"
#include "provider/ec2/ec2_network.h"
#include "provider/ec2/ec2_prices.h"
#include "provider/ec2/ec2_request.h"

namespace stoker {
namespace ec2 {
namespace {

constexpr char kUsualImage[] =
    "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64";
constexpr char kGpuImage[] =
    "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id";
// Who asks for nothing gets a machine on which an interpreter and a data set fit.
constexpr int64_t kLeastCpus = 2000;
constexpr int64_t kLeastMemory = int64_t{4} << 30;
constexpr size_t kCandidates = 12;

// A region that all accounts of that part of the cloud have.
std::string FirstRegion(const std::string& region) {
  const std::string partition = AwsPartition(region);
  if (partition == "aws-cn") return "cn-north-1";
  if (partition == "aws-us-gov") return "us-gov-west-1";
  return "us-east-1";
}

Status NoRegion(AwsApi& api, const std::string& region, const Status& why) {
  if (region == FirstRegion(region)) return why;
  const auto known = Regions(api, FirstRegion(region));
  if (!known.ok()) return why;
  if (std::find(known->begin(), known->end(), region) != known->end()) return why;
  const std::string near = Nearest(region, *known);
  return Status(Code::kInvalid, "the account has no region '" + Printable(region) + "' of EC2",
                near.empty() ? "There are: " + Join(*known, ", ") : "Did you mean " + near + "?");
}

Result<std::vector<std::string>> ZonesOf(AwsApi& api, const Ec2Wish& wish) {
  const auto zones = Zones(api, wish.region);
  if (!zones.ok() || zones->empty()) {
    return NoRegion(
        api, wish.region,
        zones.ok() ? Status(Code::kNotFound, wish.region + " has no zones") : zones.status());
  }
  if (wish.zone.empty()) return *zones;
  if (std::find(zones->begin(), zones->end(), wish.zone) != zones->end()) {
    return std::vector<std::string>{wish.zone};
  }
  const std::string near = Nearest(wish.zone, *zones);
  return Status(Code::kInvalid, "there is no zone '" + Printable(wish.zone) + "' in " + wish.region,
                near.empty() ? "There are: " + Join(*zones, ", ") : "Did you mean " + near + "?");
}

Result<Image> ImageOf(AwsApi& api, const Ec2Wish& wish) {
  std::string id = wish.image;
  std::string name = StartsWith(id, "ssm:") ? id.substr(4) : "";
  // That with the driver for GPUs has the one for EFA, too.
  if (id.empty()) name = wish.gpus.value_or(0) > 0 || wish.efa ? kGpuImage : kUsualImage;
  if (!name.empty()) {
    auto value = Parameter(api, wish.region, name);
    if (value.status().Is(Code::kNotFound)) {
      return Status(Code::kInvalid,
                    "there is no parameter " + Printable(name) + " in " + wish.region,
                    "Correct 'image_id', or name an image: ami-…");
    }
    if (!value.ok()) return value.status().WithContext("reading " + Printable(name));
    id = std::move(*value);
  }
  STOKER_ASSIGN(Image image, FindImage(api, wish.region, id));
  if (image.architecture != "x86_64") {
    return Status(Code::kInvalid,
                  "image " + image.id + " is for " + image.architecture +
                      ", and this stoker is a program for x86-64",
                  "Name an image for x86_64");
  }
  if (image.state != "available") {
    return Status(Code::kInvalid, "image " + image.id + " is " + image.state, "Name another");
  }
  return image;
}

MachineWish MachineOf(const Ec2Wish& wish) {
  MachineWish machine;
  machine.cpus_thousandths = wish.cpus.value_or(kLeastCpus);
  machine.memory_bytes = wish.memory.value_or(kLeastMemory);
  machine.gpus = wish.gpus.value_or(0);
  machine.gpu_name = wish.gpu_name;
  machine.spot = wish.spot;
  machine.cluster = wish.cluster;
  machine.efa = wish.efa;
  return machine;
}

Result<std::vector<MachineType>> GivenType(AwsApi& api, const Ec2Wish& wish) {
  auto type = OneType(api, wish.region, wish.type);
  if (type.ok()) {
    if (!type->x86_64) {
      return Status(Code::kInvalid,
                    wish.type + " has another processor than x86-64, for which this stoker is",
                    "Name another type");
    }
    if (const std::string lacks = Lacks(*type, MachineOf(wish)); !lacks.empty()) {
      return Status(Code::kInvalid, wish.type + " " + lacks,
                    "Name another type, or leave that out of 'aws'");
    }
    // What is reserved may be sold in no other way.
    if (wish.reservation.empty() && (wish.spot ? !type->spot : !type->on_demand)) {
      return Status(Code::kInvalid,
                    wish.type + " cannot be had " + (wish.spot ? "as spot" : "on demand"),
                    "Name another type, or change use_spot");
    }
    return std::vector<MachineType>{*type};
  }
  if (!type.status().Is(Code::kNotFound)) return type.status();
  const auto names = TypeNames(api, wish.region);
  const std::string near = Nearest(wish.type, names.value_or({}));
  return Status(Code::kInvalid, type.status().message(),
                near.empty()
                    ? "See: aws ec2 describe-instance-type-offerings --region " + wish.region
                    : "Did you mean " + near + "?");
}

// The few that are worth a look, the smallest first.
Result<std::vector<MachineType>> TypesOf(AwsApi& api, const Ec2Wish& wish) {
  if (!wish.type.empty()) return GivenType(api, wish);
  const MachineWish machine = MachineOf(wish);
  STOKER_ASSIGN(const std::vector<MachineType> all, AllTypes(api, wish.region));
  std::vector<MachineType> fit = FitTypes(all, machine);
  if (fit.empty()) return NothingFits(wish.region, all, machine);
  // With as many GPUs as the smallest, and not twice its size: nobody wants more than that.
  const MachineType& least = fit.front();
  const auto much = [&](const MachineType& type) {
    return type.gpus > least.gpus || (least.gpus == 0 && (type.cpus > 2 * least.cpus ||
                                                          type.memory_mib > 4 * least.memory_mib));
  };
  fit.erase(std::find_if(fit.begin(), fit.end(), much), fit.end());
  if (fit.size() > kCandidates) fit.resize(kCandidates);
  return fit;
}

// What a reservation says of type and zone goes into the wish. True: it is a block.
Result<bool> ApplyReservation(AwsApi& api, Ec2Wish* wish) {
  STOKER_ASSIGN(const Reservation found, FindReservation(api, wish->region, wish->reservation));
  const std::string name = "the capacity reservation " + wish->reservation;
  if (wish->spot) {
    return Status(Code::kInvalid, name + " is not of the spot market", "Leave use_spot out");
  }
  if (!wish->type.empty() && wish->type != found.type) {
    return Status(Code::kInvalid, name + " is for " + found.type + ", not for " + wish->type,
                  "Leave instance_type out");
  }
  if (!wish->zone.empty() && wish->zone != found.zone) {
    return Status(Code::kInvalid, name + " is in " + found.zone + ", not in " + wish->zone,
                  "Leave the zone out of infra");
  }
  if (found.state != "active") {
    return Status(Code::kInvalid,
                  name + " is " + found.state +
                      (found.begins.empty() ? "" : ": it begins at " + found.begins),
                  "Submit the job when it is active, or name another");
  }
  if (found.machines < wish->nodes) {
    return Status(Code::kInvalid,
                  name + " is for " + std::to_string(found.machines) + " machines, fewer than " +
                      std::to_string(wish->nodes) + " nodes",
                  "Ask for fewer nodes, or name another");
  }
  wish->type = found.type;
  wish->zone = found.zone;
  return found.block;
}

struct Way {
  std::string type;
  std::string zone;
  int64_t efa = 0;  // interfaces of the kind
  std::optional<int64_t> price;
};

// One type in each zone that has it: of spot the cheapest there, else the first.
Result<std::vector<Way>> WaysOf(AwsApi& api, const Ec2Wish& wish,
                                const std::vector<MachineType>& types,
                                const std::vector<std::string>& zones) {
  std::vector<std::string> names;
  for (const MachineType& type : types) names.push_back(type.name);
  STOKER_ASSIGN(const auto offerings, Offerings(api, wish.region, names));
  std::map<std::pair<std::string, std::string>, int64_t> prices;
  // Without prices it is the smallest: they are no reason to refuse.
  if (wish.spot) prices = SpotPrices(api, wish.region, names).value_or({});
  std::vector<Way> ways;
  for (const std::string& zone : zones) {
    std::optional<Way> best;
    for (const MachineType& type : types) {
      const auto there = offerings.find(type.name);
      if (there == offerings.end() || !there->second.contains(zone)) continue;
      Way way{type.name, zone, type.efa, std::nullopt};
      if (const auto price = prices.find({type.name, zone}); price != prices.end()) {
        way.price = price->second;
      }
      if (!best || (way.price && (!best->price || *way.price < *best->price))) best = way;
    }
    // On demand it is only told: who is not choosy gets the smallest.
    if (best && !wish.spot) best->price = Ec2ListPrice(wish.region, best->type);
    if (best) ways.push_back(*best);
  }
  if (ways.empty()) {
    return Status(Code::kInvalid,
                  names.front() + " is offered in no zone of " + wish.region +
                      (wish.zone.empty() ? "" : " but others than " + wish.zone),
                  "Name another type, zone or region");
  }
  return ways;
}

Result<std::vector<Disk>> DisksOf(const Image& image, const Ec2Wish& wish) {
  std::vector<Disk> disks = image.disks;
  if (!wish.disk_gib) return disks;
  for (Disk& disk : disks) {
    if (disk.device == image.root) {
      disk.gib = *wish.disk_gib;
      return disks;
    }
  }
  return Status(Code::kInvalid,
                "image " + image.id + " has no volume as its disk, so 'disk_size' means nothing",
                "Name another image, or leave 'disk_size' out");
}

Result<std::vector<Offer>> OffersOf(const Ec2Wish& wish, const Ask& ask, Options options,
                                    const std::vector<Way>& ways, const Network& network) {
  std::vector<Offer> offers;
  for (const Way& way : ways) {
    const auto subnet = network.subnets.find(way.zone);
    if (subnet == network.subnets.end()) continue;
    options.subnet = subnet->second;
    options.efa = wish.efa ? way.efa : 0;
    options.metadata_tags = wish.metadata_tags;
    Offer offer;
    offer.ask = ask;
    offer.ask.place.zone = way.zone;
    offer.ask.type = way.type;
    offer.ask.options = EncodeOptions(options);
    if (ask.market != kBlock) offer.price = way.price;  // a block is paid when it is bought
    offers.push_back(std::move(offer));
  }
  if (offers.empty() && !network.is_default) {
    std::vector<std::string> zones;
    for (const auto& [zone, subnet] : network.subnets) zones.push_back(zone);
    return Status(Code::kInvalid,
                  "the subnets are in " + Join(zones, ", ") + ", and not in " + ways.front().zone +
                      (ways.size() > 1 ? " or another zone that has " + ways.front().type : ""),
                  "Name a subnet there, or another zone or type");
  }
  if (offers.empty()) {
    return Status(
        Code::kInvalid,
        "the default VPC " + network.vpc + " has no default subnet in " + ways.front().zone,
        "Make one: aws ec2 create-default-subnet --availability-zone " + ways.front().zone);
  }
  if (offers.size() > kMostOffers) offers.resize(kMostOffers);
  // What would be refused for its length is refused here.
  LaunchRequest trial;
  trial.token = "trial";
  trial.ask = offers.front().ask;
  STOKER_TRY(RunInstances(trial, options, "").status());
  return offers;
}

// A subnet that no machine could reach the bucket from is none, unless all are: that is refused.
// Where the tables are not to be had, nothing is.
Status KeepThoseWithAWay(AwsApi& api, const Ec2Wish& wish, Network* network,
                         std::vector<std::string>* remarks) {
  if (!wish.s3_endpoint.empty() || wish.store_region.empty()) return Status::Ok();
  const auto ways = WaysToS3(api, wish.region, network->vpc);
  if (!ways.ok()) {
    // The default VPC has a way, as a rule.
    if (!network->is_default) {
      remarks->push_back("whether machines in " + network->vpc +
                         " reach the store is not known: " + ways.status().ToString());
    }
    return Status::Ok();
  }
  std::vector<std::string> without;
  for (auto one = network->subnets.begin(); one != network->subnets.end();) {
    const bool none = ways->Of(one->second) == WayOut::kNone;
    if (none) without.push_back(one->second + " in " + one->first);
    one = none ? network->subnets.erase(one) : std::next(one);
  }
  if (!network->subnets.empty() || without.empty()) return Status::Ok();
  return Status(Code::kInvalid,
                "no machine in " + Join(without, ", ") +
                    " could reach the store: the route table has the VPC's own route alone, and "
                    "there is no endpoint of S3",
                MakeAWay(wish.region, network->vpc));
}

// The profile is there, and as far as that is known its role may use the store. A bucket elsewhere
// than EC2 knows nothing of roles.
Status CheckRole(AwsApi& api, const Ec2Wish& wish) {
  STOKER_ASSIGN(const std::string role, RoleOfProfile(api, wish.region, wish.profile));
  const bool elsewhere = !wish.s3_endpoint.empty() && wish.ec2_endpoint.empty();
  if (wish.store.empty() || elsewhere) return Status::Ok();
  return LookAtRole(api, wish.region, role, wish.store).may;
}

struct Plugs {
  Network network;
  std::vector<std::string> groups;
  std::vector<std::string> remarks;
};

Result<Plugs> PlugsOf(AwsApi& api, const Ec2Wish& wish) {
  Plugs out;
  STOKER_ASSIGN(out.network, wish.subnets.empty() ? DefaultNetwork(api, wish.region)
                                                  : NetworkOf(api, wish.region, wish.subnets));
  STOKER_TRY(KeepThoseWithAWay(api, wish, &out.network, &out.remarks));
  if (wish.groups.empty()) return out;
  STOKER_ASSIGN(out.groups, GroupIds(api, wish.region, out.network.vpc, wish.groups, wish.nodes));
  return out;
}

// What does not hang on the answers to other questions is asked at the same time.
Result<std::vector<Offer>> Resolve(AwsApi& api, Ec2Wish wish) {
  bool block = false;
  if (!wish.reservation.empty()) {
    STOKER_ASSIGN(block, ApplyReservation(api, &wish));
  }
  const auto at_once = [](auto ask) { return std::async(std::launch::async, std::move(ask)); };
  auto asked_zones = at_once([&api, wish] { return ZonesOf(api, wish); });
  auto asked_plugs = at_once([&api, wish] { return PlugsOf(api, wish); });
  auto asked_role = at_once([&api, wish] { return CheckRole(api, wish); });
  auto asked_account = at_once([&api, wish] { return Account(api, wish.region); });
  auto types = TypesOf(api, wish);
  // A wrong region or zone is the first word about anything else.
  STOKER_ASSIGN(const std::vector<std::string> zones, asked_zones.get());
  STOKER_TRY(types.status());
  // The GPUs of a type that was named need their driver, too.
  if (!wish.gpus && types->front().gpus > 0) wish.gpus = static_cast<int>(types->front().gpus);
  auto asked_image = at_once([&api, wish] { return ImageOf(api, wish); });
  const auto ways = WaysOf(api, wish, *types, zones);
  STOKER_ASSIGN(const Image image, asked_image.get());
  STOKER_TRY(ways.status());
  STOKER_ASSIGN(const Plugs plugs, asked_plugs.get());
  STOKER_TRY(asked_role.get());
  Options options;
  options.vpc = plugs.network.vpc;
  options.groups = plugs.groups;
  options.profile = wish.profile;
  options.reservation = wish.reservation;
  if (wish.cluster) options.placement = kCluster;
  options.store_region = wish.store_region;
  options.s3_endpoint = wish.s3_endpoint;
  options.ec2_endpoint = wish.ec2_endpoint;
  options.ssm_endpoint = wish.ssm_endpoint;
  options.secrets_endpoint = wish.secrets_endpoint;
  options.logs_endpoint = wish.logs_endpoint;
  options.ecr_endpoint = wish.ecr_endpoint;
  options.google_identity = wish.google_identity;
  options.google_account = wish.google_account;
  STOKER_ASSIGN(options.disks, DisksOf(image, wish));
  for (const auto& [key, value] : wish.labels) options.labels.push_back({key, value});
  Ask ask;
  ask.place = {"ec2", asked_account.get(), wish.region, ""};
  ask.image = image.id;
  ask.market = wish.spot ? kSpot : block ? kBlock : kOnDemand;
  STOKER_ASSIGN(auto offers, OffersOf(wish, ask, options, *ways, plugs.network));
  if (!wish.say) return offers;
  for (const std::string& remark : plugs.remarks) wish.say(remark);
  const auto root = std::find_if(options.disks.begin(), options.disks.end(),
                                 [&](const Disk& disk) { return disk.device == image.root; });
  const int64_t gib = root == options.disks.end() ? 0 : root->gib;
  for (const std::string& remark :
       cloud::ImageRemarks({image.name, gib, wish.gpus.value_or(0) > 0, wish.packages})) {
    wish.say(remark);
  }
  return offers;
}

}  // namespace
}  // namespace ec2

Result<std::vector<Offer>> ResolveEc2(ec2::AwsApi& api, const Ec2Wish& given) {
  Ec2Wish wish = given;
  if (wish.region.empty()) {
    return Status(Code::kInvalid, "no region of AWS is set",
                  "Write infra: aws/REGION, or set AWS_REGION");
  }
  if (wish.profile.empty()) wish.profile = kUsualProfile;
  auto offers = ec2::Resolve(api, wish);
  // What was true a while ago is no ground to refuse.
  if (!offers.ok() && api.Forget()) offers = ec2::Resolve(api, wish);
  return offers;
}

Status CompleteEc2Offers(ec2::AwsApi& api, const std::string& ledger_id, int64_t blob_period,
                         std::vector<Offer>* offers) {
  std::map<std::string, std::string> groups;  // by region and VPC
  for (Offer& offer : *offers) {
    STOKER_ASSIGN(ec2::Options options, ec2::ParseOptions(offer.ask.options));
    const std::string& region = offer.ask.place.region;
    if (options.groups.empty()) {
      std::string& group = groups[region + " " + options.vpc];
      if (group.empty()) {
        STOKER_ASSIGN(group,
                      ec2::EnsureGroup(api, region, options.vpc, ledger_id, options.efa > 0));
      }
      options.group = group;
    }
    options.blob_period = blob_period;
    offer.ask.options = ec2::EncodeOptions(options);
  }
  return Status::Ok();
}

}  // namespace stoker
