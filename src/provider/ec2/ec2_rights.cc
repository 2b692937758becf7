// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_rights.h"

#include <nlohmann/json.hpp>

#include "aws/config.h"
#include "provider/ec2/ec2_request.h"

namespace stoker {
namespace {

using nlohmann::ordered_json;

ordered_json Allow(const char* sid, const ordered_json& actions, const ordered_json& resource) {
  return {{"Sid", sid}, {"Effect", "Allow"}, {"Action", actions}, {"Resource", resource}};
}

}  // namespace

Result<std::string> WithEc2Rights(const std::string& policy, const std::string& region,
                                  const std::string& role, bool submitter) {
  ordered_json out = ordered_json::parse(policy, nullptr, false);
  if (!out.is_object() || !out.contains("Statement") || !out["Statement"].is_array()) {
    return Status(Code::kInvalid, "not a policy of IAM");
  }
  const std::string arn = "arn:" + AwsPartition(region);
  ordered_json& all = out["Statement"];
  if (submitter) {
    // Lists cannot be limited to resources.
    all.push_back(
        Allow("Look",
              {"ec2:DescribeAvailabilityZones", "ec2:DescribeImages", "ec2:DescribeInstances",
               "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes",
               "ec2:DescribeRegions", "ec2:DescribeSecurityGroups",
               "ec2:DescribeSecurityGroupRules", "ec2:DescribeSpotPriceHistory",
               "ec2:DescribeSubnets", "ec2:DescribeVolumes", "ec2:DescribeVpcs"},
              "*"));
    all.push_back(
        Allow("Group", {"ec2:CreateSecurityGroup", "ec2:AuthorizeSecurityGroupIngress"}, "*"));
    all.push_back(Allow("Image", "ssm:GetParameter", arn + ":ssm:*::parameter/aws/service/*"));
    all.push_back(Allow("Profile", "iam:GetInstanceProfile", arn + ":iam::*:instance-profile/*"));
  } else {
    all.push_back(Allow("Look", "ec2:DescribeInstances", "*"));
  }
  all.push_back(Allow("Launch", "ec2:RunInstances", "*"));
  ordered_json tags = Allow("TagNew", "ec2:CreateTags", "*");
  tags["Condition"] = {
      {"StringEquals", {{"ec2:CreateAction", {"RunInstances", "CreateSecurityGroup"}}}}};
  all.push_back(tags);
  // Only what carries a ledger's tag.
  ordered_json own =
      Allow("Own", {"ec2:TerminateInstances", "ec2:StartInstances", "ec2:CreateTags"},
            arn + ":ec2:*:*:instance/*");
  own["Condition"] = {{"Null", {{std::string("aws:ResourceTag/") + ec2::kLedgerTag, "false"}}}};
  all.push_back(own);
  ordered_json pass = Allow("Role", "iam:PassRole", arn + ":iam::*:role/" + role);
  pass["Condition"] = {{"StringEquals", {{"iam:PassedToService", "ec2.amazonaws.com"}}}};
  all.push_back(pass);
  return out.dump(2);
}

}  // namespace stoker
