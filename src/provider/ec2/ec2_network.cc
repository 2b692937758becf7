// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_network.h"

#include <pugixml.hpp>

#include "base/text.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/api/ec2_lists.h"
#include "provider/ec2/ec2_request.h"

namespace stoker::ec2 {
namespace {

// Does a rule of the list name the group?
bool Names(const pugi::xml_node& rules, const std::string& group) {
  for (const pugi::xml_node rule : rules.children("item")) {
    for (const pugi::xml_node of : rule.child("groups").children("item")) {
      if (group == of.child_value("groupId")) return true;
    }
  }
  return false;
}

struct GroupSeen {
  std::string id;
  bool in = false, out = false;  // it is open to itself
};

Result<GroupSeen> FindGroup(AwsApi& api, const Call& look) {
  GroupSeen seen;
  STOKER_TRY(EachItem(api, look, "securityGroupInfo", [&](const auto& item) {
    seen.id = TextIn(item, "groupId");
    seen.in = Names(item.child("ipPermissions"), seen.id);
    seen.out = Names(item.child("ipPermissionsEgress"), seen.id);
  }));
  return seen;
}

Result<std::string> MakeGroup(AwsApi& api, const std::string& region, const std::string& vpc,
                              const std::string& ledger_id, const Call& look) {
  const std::string name = GroupName(ledger_id);
  const auto made = api.Send({"ec2",
                              region,
                              "CreateSecurityGroup",
                              {{"GroupName", name},
                               {"GroupDescription", "stoker: nodes of one ledger"},
                               {"VpcId", vpc},
                               {"TagSpecification.1.ResourceType", "security-group"},
                               {"TagSpecification.1.Tag.1.Key", kLedgerTag},
                               {"TagSpecification.1.Tag.1.Value", ledger_id}}});
  STOKER_TRY(made.status());
  // Somebody else was as quick.
  if (made->failure && made->failure->code != "InvalidGroup.Duplicate") {
    return StatusOf("making the security group " + name, *made->failure);
  }
  pugi::xml_document document;
  (void)document.load_buffer(made->body.data(), made->body.size());
  const std::string id = TextIn(document.child("CreateSecurityGroupResponse"), "groupId");
  if (!id.empty()) return id;
  STOKER_ASSIGN(const GroupSeen seen, FindGroup(api, look));
  if (!seen.id.empty()) return seen.id;
  return Status(Code::kBusy, "the security group " + name + " is not known yet");
}

Status OpenToItself(AwsApi& api, const std::string& region, const std::string& id,
                    const char* action) {
  const auto rule = api.Repeat({"ec2",
                                region,
                                action,
                                {{"GroupId", id},
                                 {"IpPermissions.1.IpProtocol", "-1"},
                                 {"IpPermissions.1.Groups.1.GroupId", id}}});
  STOKER_TRY(rule.status());
  if (!rule->failure || rule->failure->code == "InvalidPermission.Duplicate") return Status::Ok();
  return StatusOf("opening the security group " + id + " to itself", *rule->failure);
}

}  // namespace

Result<Network> DefaultNetwork(AwsApi& api, const std::string& region) {
  Network network;
  network.is_default = true;
  STOKER_TRY(EachItem(api,
                      Lasting(region, "DescribeVpcs", Filters({{"is-default", {"true"}}}), kHour),
                      "vpcSet", [&](const auto& item) { network.vpc = TextIn(item, "vpcId"); }));
  if (network.vpc.empty()) {
    return Status(Code::kNotFound, "the account has no default VPC in " + region,
                  "Make one: aws ec2 create-default-vpc --region " + region);
  }
  const Params params = Filters({{"vpc-id", {network.vpc}}, {"default-for-az", {"true"}}});
  STOKER_TRY(EachItem(
      api, Lasting(region, "DescribeSubnets", params, kHour), "subnetSet", [&](const auto& item) {
        network.subnets[TextIn(item, "availabilityZone")] = TextIn(item, "subnetId");
      }));
  return network;
}

Result<Network> NetworkOf(AwsApi& api, const std::string& region,
                          const std::vector<std::string>& subnets) {
  Network network;
  std::map<std::string, std::pair<std::string, std::string>> seen;  // zone and VPC, by subnet
  const Params params = Filters({{"subnet-id", subnets}});
  STOKER_TRY(EachItem(
      api, Lasting(region, "DescribeSubnets", params, kHour), "subnetSet", [&](const auto& item) {
        seen[TextIn(item, "subnetId")] = {TextIn(item, "availabilityZone"), TextIn(item, "vpcId")};
      }));
  for (const std::string& subnet : subnets) {
    const auto found = seen.find(subnet);
    if (found == seen.end()) {
      return Status(Code::kInvalid, "there is no subnet " + Printable(subnet) + " in " + region,
                    "See: aws ec2 describe-subnets --region " + region);
    }
    const auto& [zone, vpc] = found->second;
    if (!network.vpc.empty() && network.vpc != vpc) {
      return Status(Code::kInvalid,
                    "the subnets " + Join(subnets, ", ") + " are of more than one VPC",
                    "Nodes reach each other within one: name subnets of one");
    }
    network.vpc = vpc;
    network.subnets.emplace(zone, subnet);
  }
  return network;
}

Result<std::vector<std::string>> GroupIds(AwsApi& api, const std::string& region,
                                          const std::string& vpc,
                                          const std::vector<std::string>& groups, int nodes) {
  std::map<std::string, std::string> ids;  // by name, and by id
  std::vector<std::string> names;
  std::map<std::string, bool> lets_in;
  const Params params = Filters({{"vpc-id", {vpc}}});
  STOKER_TRY(EachItem(api, Lasting(region, "DescribeSecurityGroups", params, kHour),
                      "securityGroupInfo", [&](const auto& item) {
                        const std::string id = TextIn(item, "groupId");
                        names.push_back(TextIn(item, "groupName"));
                        ids[names.back()] = ids[id] = id;
                        lets_in[id] = static_cast<bool>(item.child("ipPermissions").child("item"));
                      }));
  std::vector<std::string> out;
  bool any = false;
  for (const std::string& group : groups) {
    const auto found = ids.find(group);
    if (found == ids.end()) {
      const std::string near = Nearest(group, names);
      return Status(
          Code::kInvalid,
          "there is no security group " + Printable(group) + " in " + vpc + " of " + region,
          near.empty() ? "See: aws ec2 describe-security-groups --region " + region
                       : "Did you mean " + near + "?");
    }
    out.push_back(found->second);
    any = any || lets_in[found->second];
  }
  if (nodes > 1 && !any) {
    return Status(Code::kInvalid,
                  "the security groups " + Join(groups, ", ") +
                      " let nobody in, so the nodes could not reach each other",
                  "Allow what comes from the group itself, or name no group: stoker has one");
  }
  return out;
}

Result<std::string> EnsureGroup(AwsApi& api, const std::string& region, const std::string& vpc,
                                const std::string& ledger_id, bool efa) {
  Call look = Lasting(region, "DescribeSecurityGroups",
                      Filters({{"vpc-id", {vpc}}, {"group-name", {GroupName(ledger_id)}}}), kHour);
  const auto is_ready = [&](const GroupSeen& seen) { return seen.in && (seen.out || !efa); };
  STOKER_ASSIGN(GroupSeen seen, FindGroup(api, look));
  if (is_ready(seen)) return seen.id;
  look.anew = true;
  STOKER_ASSIGN(seen, FindGroup(api, look));
  if (seen.id.empty()) {
    STOKER_ASSIGN(seen.id, MakeGroup(api, region, vpc, ledger_id, look));
  }
  if (!seen.in) {
    STOKER_TRY(OpenToItself(api, region, seen.id, "AuthorizeSecurityGroupIngress"));
  }
  // What goes out to anywhere does not count for EFA.
  if (efa && !seen.out) {
    STOKER_TRY(OpenToItself(api, region, seen.id, "AuthorizeSecurityGroupEgress"));
  }
  return seen.id;
}

}  // namespace stoker::ec2
