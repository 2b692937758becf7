// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_door.h"

#include <arpa/inet.h>

#include "base/json.h"
#include "base/text.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/api/ec2_lists.h"
#include "provider/ec2/ec2_request.h"

namespace stoker {

using ec2::TextIn;

Result<Ec2Door> FindEc2Door(ec2::AwsApi& api, const std::string& region, const std::string& id,
                            const std::string& ledger_id) {
  Ec2Door door;
  door.region = region;
  const auto take = [&](const pugi::xml_node& reservation) {
    for (const pugi::xml_node item : reservation.child("instancesSet").children("item")) {
      if (TextIn(item, "instanceId") != id) continue;
      door.id = id;
      door.zone = TextIn(item.child("placement"), "availabilityZone");
      door.state = TextIn(item.child("instanceState"), "name");
      door.address = TextIn(item, "ipAddress");
      door.is_public = !door.address.empty();
      if (!door.is_public) door.address = TextIn(item, "privateIpAddress");
      for (const pugi::xml_node group : item.child("groupSet").children("item")) {
        const bool own = TextIn(group, "groupName") == ec2::GroupName(ledger_id);
        if (own) door.group = TextIn(group, "groupId");
      }
    }
  };
  STOKER_TRY(ec2::EachItem(
      api, {"ec2", region, "DescribeInstances", ec2::Filters({{"instance-id", {id}}})},
      "reservationSet", take));
  if (!door.id.empty()) return door;
  return Status(Code::kNotFound, "EC2 has no instance " + Printable(id) + " in " + region);
}

Result<std::string> AloneAsRange(const std::string& address) {
  for (const int family : {AF_INET, AF_INET6}) {
    unsigned char bytes[16];
    char text[INET6_ADDRSTRLEN];
    if (inet_pton(family, address.c_str(), bytes) != 1) continue;
    if (inet_ntop(family, bytes, text, sizeof text) == nullptr) continue;
    return text + std::string(family == AF_INET ? "/32" : "/128");
  }
  return Status(Code::kInvalid, "not an address of IP: " + Printable(CutText(address, 80)));
}

namespace {

// Between two sessions at once a rule can go and come again.
constexpr int kTries = 3;

ec2::Call Opening(const Ec2Door& door, const std::string& ledger_id, const std::string& job,
                  const std::string& range, WallTime until) {
  const bool six = range.find(':') != std::string::npos;
  const std::string list = six ? "IpPermissions.1.Ipv6Ranges.1." : "IpPermissions.1.IpRanges.1.";
  const std::string expires = FormatRfc3339(until);
  return {"ec2",
          door.region,
          "AuthorizeSecurityGroupIngress",
          {{"GroupId", door.group},
           {"IpPermissions.1.IpProtocol", "tcp"},
           {"IpPermissions.1.FromPort", "22"},
           {"IpPermissions.1.ToPort", "22"},
           {list + (six ? "CidrIpv6" : "CidrIp"), range},
           {list + "Description", "stoker ssh of job " + job + ", stoker-expires=" + expires},
           {"TagSpecification.1.ResourceType", "security-group-rule"},
           {"TagSpecification.1.Tag.1.Key", ec2::kLedgerTag},
           {"TagSpecification.1.Tag.1.Value", ledger_id},
           {"TagSpecification.1.Tag.2.Key", ec2::kJobTag},
           {"TagSpecification.1.Tag.2.Value", job},
           {"TagSpecification.1.Tag.3.Key", ec2::kExpiresTag},
           {"TagSpecification.1.Tag.3.Value", expires}}};
}

struct OpenRule {
  std::string id;
  bool own = false;
};

// That by which `range` comes to port 22 now; no id: there is none.
Result<OpenRule> FindRule(ec2::AwsApi& api, const Ec2Door& door, const std::string& ledger_id,
                          const std::string& range) {
  OpenRule found;
  const auto take = [&](const pugi::xml_node& item) {
    const bool in = TextIn(item, "isEgress") == "false" && TextIn(item, "ipProtocol") == "tcp";
    const bool ssh = TextIn(item, "fromPort") == "22" && TextIn(item, "toPort") == "22";
    if (!in || !ssh || TextIn(item, "cidrIpv4") + TextIn(item, "cidrIpv6") != range) return;
    found = {TextIn(item, "securityGroupRuleId"), ec2::TagIn(item, ec2::kLedgerTag) == ledger_id};
  };
  STOKER_TRY(ec2::EachItem(api,
                           {"ec2", door.region, "DescribeSecurityGroupRules",
                            ec2::Filters({{"group-id", {door.group}}})},
                           "securityGroupRuleSet", take));
  return found;
}

}  // namespace

Result<std::string> OpenEc2Door(ec2::AwsApi& api, const Ec2Door& door, const std::string& ledger_id,
                                const std::string& job, const std::string& range, WallTime until) {
  const ec2::Call call = Opening(door, ledger_id, job, range, until);
  for (int tries = 0;; ++tries) {
    STOKER_ASSIGN(const ec2::Reply reply, api.Repeat(call));
    if (!reply.failure) {
      pugi::xml_document document;
      (void)document.load_buffer(reply.body.data(), reply.body.size());
      const pugi::xml_node rules = document.document_element().child("securityGroupRuleSet");
      return TextIn(rules.child("item"), "securityGroupRuleId");
    }
    if (reply.failure->code != "InvalidPermission.Duplicate" || tries == kTries) {
      return ec2::StatusOf("opening port 22 of " + door.group + " to " + range, *reply.failure);
    }
    // A killed session's, another one's, or this one's own, whose answer was lost.
    STOKER_ASSIGN(const OpenRule there, FindRule(api, door, ledger_id, range));
    if (!there.id.empty() && !there.own) return std::string();
    if (!there.id.empty()) STOKER_TRY(CloseEc2Door(api, door, there.id));
  }
}

Status CloseEc2Door(ec2::AwsApi& api, const Ec2Door& door, const std::string& rule) {
  const ec2::Call call{"ec2",
                       door.region,
                       "RevokeSecurityGroupIngress",
                       {{"GroupId", door.group}, {"SecurityGroupRuleId.1", rule}}};
  const auto reply = api.Repeat(call);
  STOKER_TRY(reply.status());
  if (!reply->failure) return Status::Ok();
  const Status why = ec2::StatusOf(ec2::Described(call) + " of " + rule, *reply->failure);
  return why.Is(Code::kNotFound) ? Status::Ok() : why;
}

ec2::Call Ec2KeyCall(const Ec2Door& door, const std::string& user, const std::string& public_key) {
  ec2::Call call{"ec2-instance-connect", door.region, "SendSSHPublicKey"};
  call.json = nlohmann::json{
      {"InstanceId", door.id},
      {"InstanceOSUser", user},
      {"SSHPublicKey", public_key},
      {"AvailabilityZone",
       door.zone}}.dump();
  return call;
}

Status SendEc2Key(ec2::AwsApi& api, const Ec2Door& door, const std::string& user,
                  const std::string& public_key) {
  STOKER_ASSIGN(const ec2::Reply reply, api.Repeat(Ec2KeyCall(door, user, public_key)));
  if (!reply.failure) return Status::Ok();
  return ec2::StatusOf("sending a key to " + door.id, *reply.failure);
}

}  // namespace stoker
