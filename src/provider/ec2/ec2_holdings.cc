// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_holdings.h"

#include <set>

#include "base/text.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/api/ec2_lists.h"
#include "provider/ec2/ec2_catalog.h"
#include "provider/ec2/ec2_instances.h"
#include "provider/ec2/ec2_prices.h"
#include "provider/ec2/ec2_request.h"

namespace stoker {
namespace ec2 {
namespace {

constexpr int kMostInstancePages = 1000;

Params Tagged(const std::string& ledger_id) {
  return Filters({{std::string("tag:") + kLedgerTag, {ledger_id}}});
}

WallTime TimeIn(const std::string& text) {
  const auto time = ParseRfc3339(text);
  return time.ok() ? *time : WallTime();
}

const char* StateText(InstanceState state) {
  switch (state) {
    case InstanceState::kBooting:
      return "pending";
    case InstanceState::kRunning:
      return "running";
    case InstanceState::kStopping:
      return "stopping";
    case InstanceState::kStopped:
      return "stopped";
    case InstanceState::kGone:
      return "terminated";
    default:
      return "unknown";
  }
}

Holding Made(HoldingKind kind, const char* word, const std::string& region) {
  Holding out;
  out.kind = kind;
  out.word = word;
  out.place = {kEc2Provider, "", region, ""};
  return out;
}

// EC2 tells of it for a while.
bool IsGone(const Holding& one) { return one.state == "deleting" || one.state == "deleted"; }

Holding OfInstance(const std::string& region, const Instance& instance) {
  Holding out = Made(HoldingKind::kMachine, "instance", region);
  out.id = instance.seen.id;
  out.what = instance.type + " " + instance.market;
  out.state = StateText(instance.seen.state);
  out.place.zone = instance.zone;
  out.job = instance.seen.job;
  out.token = instance.seen.token;
  out.index = instance.seen.index;
  out.group = instance.group;
  out.since = instance.started;
  out.expires = instance.seen.expires;
  return out;
}

Status AddInstances(AwsApi& api, const std::string& region, const std::string& ledger_id,
                    std::vector<Holding>* out) {
  std::vector<Instance> all;
  std::string next;
  for (int page = 0;; ++page) {
    WallTime now;
    STOKER_ASSIGN(const std::string body, api.Read({"ec2", region, "DescribeInstances",
                                                    DescribeInstances(ledger_id, "", "", next)},
                                                   &now));
    STOKER_ASSIGN(InstancePage read, ParseInstances(body, now));
    for (Instance& instance : read.instances) all.push_back(std::move(instance));
    if (read.next.empty()) break;
    next = read.next;
    if (page > kMostInstancePages)
      return Status(Code::kCorrupt, "the list of instances has no end");
  }
  std::set<std::string> spot;
  for (const Instance& one : all) {
    if (one.market == kSpot && one.seen.state != InstanceState::kGone) spot.insert(one.type);
  }
  std::map<std::pair<std::string, std::string>, int64_t> prices;
  if (!spot.empty()) prices = SpotPrices(api, region, {spot.begin(), spot.end()}).value_or({});
  for (const Instance& one : all) {
    if (one.seen.state == InstanceState::kGone) continue;
    out->push_back(OfInstance(region, one));
    const bool runs =
        one.seen.state == InstanceState::kRunning || one.seen.state == InstanceState::kBooting;
    if (!runs) continue;
    if (one.market != kSpot) out->back().price = Ec2ListPrice(region, one.type);
    const auto price = prices.find({one.type, one.zone});
    if (one.market == kSpot && price != prices.end()) out->back().price = price->second;
  }
  return Status::Ok();
}

Status AddVolumes(AwsApi& api, const std::string& region, const std::string& ledger_id,
                  std::vector<Holding>* out) {
  return EachItem(api, {"ec2", region, "DescribeVolumes", Tagged(ledger_id)}, "volumeSet",
                  [&](const pugi::xml_node& item) {
                    Holding one = Made(HoldingKind::kDisk, "volume", region);
                    one.id = TextIn(item, "volumeId");
                    one.what = TextIn(item, "size") + " GiB " + TextIn(item, "volumeType");
                    one.state = TextIn(item, "status");
                    one.place.zone = TextIn(item, "availabilityZone");
                    one.in_use =
                        one.state != "available" || item.child("attachmentSet").child("item");
                    one.job = TagIn(item, kJobTag);
                    one.since = TimeIn(TextIn(item, "createTime"));
                    one.expires = TimeIn(TagIn(item, kExpiresTag));
                    if (!IsGone(one)) out->push_back(std::move(one));
                  });
}

Status AddGroups(AwsApi& api, const std::string& region, const std::string& ledger_id,
                 std::vector<Holding>* out) {
  return EachItem(api, {"ec2", region, "DescribeSecurityGroups", Tagged(ledger_id)},
                  "securityGroupInfo", [&](const pugi::xml_node& item) {
                    Holding one = Made(HoldingKind::kGroup, "security group", region);
                    one.id = TextIn(item, "groupId");
                    one.what = TextIn(item, "groupName") + " in " + TextIn(item, "vpcId");
                    one.in_use = true;
                    out->push_back(std::move(one));
                  });
}

Status AddRules(AwsApi& api, const std::string& region, const std::string& ledger_id,
                std::vector<Holding>* out) {
  return EachItem(api, {"ec2", region, "DescribeSecurityGroupRules", Tagged(ledger_id)},
                  "securityGroupRuleSet", [&](const pugi::xml_node& item) {
                    Holding one = Made(HoldingKind::kRule, "rule", region);
                    one.id = TextIn(item, "securityGroupRuleId");
                    one.group = TextIn(item, "groupId");
                    one.what = "port " + TextIn(item, "fromPort") + " from " +
                               TextIn(item, "cidrIpv4") + TextIn(item, "cidrIpv6");
                    one.expires = TimeIn(TagIn(item, kExpiresTag));
                    out->push_back(std::move(one));
                  });
}

Status AddPlacements(AwsApi& api, const std::string& region, const std::string& ledger_id,
                     std::vector<Holding>* out) {
  std::set<std::string> used;
  for (const Holding& one : *out) {
    if (one.kind == HoldingKind::kMachine) used.insert(one.group);
  }
  return EachItem(api, {"ec2", region, "DescribePlacementGroups", Tagged(ledger_id)},
                  "placementGroupSet", [&](const pugi::xml_node& item) {
                    Holding one = Made(HoldingKind::kPlacement, "placement group", region);
                    one.id = TextIn(item, "groupName");
                    one.what = TextIn(item, "strategy");
                    one.state = TextIn(item, "state");
                    one.job = TagIn(item, kJobTag);
                    one.in_use = used.contains(one.id);
                    if (!IsGone(one)) out->push_back(std::move(one));
                  });
}

}  // namespace
}  // namespace ec2

Result<std::vector<Holding>> Ec2Holdings(ec2::AwsApi& api, const std::string& region,
                                         const std::string& ledger_id,
                                         std::vector<std::string>* troubles) {
  std::vector<Holding> out;
  STOKER_TRY(ec2::AddInstances(api, region, ledger_id, &out));
  for (const auto add : {ec2::AddVolumes, ec2::AddGroups, ec2::AddRules, ec2::AddPlacements}) {
    const Status added = add(api, region, ledger_id, &out);
    if (!added.ok()) troubles->push_back(added.ToString());
  }
  return out;
}

Result<std::vector<std::string>> Ec2Regions(ec2::AwsApi& api, const std::string& region) {
  return ec2::Regions(api, region);
}

WallTime Ec2Now(const ec2::AwsApi& api) { return api.Now(); }

Status EndEc2Holding(ec2::AwsApi& api, const Holding& holding) {
  ec2::Call call{"ec2", holding.place.region, ""};
  switch (holding.kind) {
    case HoldingKind::kMachine:
      call.action = "TerminateInstances";
      call.params = {{"InstanceId.1", holding.id}};
      break;
    case HoldingKind::kDisk:
      call.action = "DeleteVolume";
      call.params = {{"VolumeId", holding.id}};
      break;
    case HoldingKind::kRule:
      call.action = "RevokeSecurityGroupIngress";
      call.params = {{"GroupId", holding.group}, {"SecurityGroupRuleId.1", holding.id}};
      break;
    case HoldingKind::kPlacement:
      call.action = "DeletePlacementGroup";
      call.params = {{"GroupName", holding.id}};
      break;
    case HoldingKind::kGroup:
      call.action = "DeleteSecurityGroup";
      call.params = {{"GroupId", holding.id}};
      break;
  }
  const auto reply = api.Repeat(call);
  STOKER_TRY(reply.status());
  if (!reply->failure) return Status::Ok();
  if (reply->failure->code == "InvalidPlacementGroup.Unknown") return Status::Ok();
  const Status why = ec2::StatusOf(ec2::Described(call) + " of " + holding.id, *reply->failure);
  return why.Is(Code::kNotFound) ? Status::Ok() : why;
}

}  // namespace stoker
