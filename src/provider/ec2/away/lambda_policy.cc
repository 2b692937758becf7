// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/away/lambda_policy.h"

#include "base/json.h"
#include "provider/ec2/ec2_request.h"

namespace stoker::ec2 {
namespace {

using nlohmann::ordered_json;

// Lists: of machines, and of what a sweep looks for; and of how a machine gets to S3, where one
// could not begin.
constexpr const char* kLook[] = {"ec2:DescribeInstances",      "ec2:DescribePlacementGroups",
                                 "ec2:DescribeRouteTables",    "ec2:DescribeSecurityGroupRules",
                                 "ec2:DescribeSecurityGroups", "ec2:DescribeSpotPriceHistory",
                                 "ec2:DescribeVolumes",        "ec2:DescribeVpcEndpoints"};

ordered_json Allow(const char* sid, const ordered_json& actions, const ordered_json& resource,
                   const ordered_json& equal = {}) {
  ordered_json out = {
      {"Sid", sid}, {"Effect", "Allow"}, {"Action", actions}, {"Resource", resource}};
  if (!equal.empty()) out["Condition"] = {{"StringEquals", equal}};
  return out;
}

}  // namespace

std::string LambdaTrust() {
  const ordered_json out = {{"Version", "2012-10-17"},
                            {"Statement",
                             {{{"Effect", "Allow"},
                               {"Principal", {{"Service", "lambda.amazonaws.com"}}},
                               {"Action", "sts:AssumeRole"}}}}};
  return out.dump();
}

Result<std::string> LambdaPolicy(const std::string& store_policy, const Bound& bound,
                                 const std::string& ledger, const std::string& partition,
                                 const std::string& role_arn, const std::string& log_group) {
  ordered_json out = ordered_json::parse(store_policy, nullptr, false);
  if (!out.is_object() || !out.contains("Statement") || !out["Statement"].is_array()) {
    return Status(Code::kInvalid, "not a policy of IAM");
  }
  const std::string ec2 = "arn:" + partition + ":ec2:*:*:";
  // Those of Amazon belong to no account.
  const std::string image = "arn:" + partition + ":ec2:*::image/*";
  const ordered_json regions = {{"aws:RequestedRegion", bound.regions}};
  const std::string tag = std::string("aws:ResourceTag/") + kLedgerTag;
  ordered_json& all = out["Statement"];
  // The group itself is made beforehand: what makes it could make it again after the end.
  all.push_back(Allow("Log", {"logs:CreateLogStream", "logs:PutLogEvents"},
                      "arn:" + partition + ":logs:*:*:log-group:" + log_group + ":*"));
  all.push_back(Allow("Look", kLook, "*"));
  all.push_back(Allow("Launch", "ec2:RunInstances", ec2 + "instance/*",
                      {{"aws:RequestedRegion", bound.regions}, {"ec2:InstanceType", bound.types}}));
  all.push_back(Allow("LaunchOf", "ec2:RunInstances",
                      {image, ec2 + "capacity-reservation/*", ec2 + "network-interface/*",
                       ec2 + "placement-group/*", ec2 + "security-group/*", ec2 + "subnet/*",
                       ec2 + "volume/*", ec2 + "spot-instances-request/*"},
                      regions));
  all.push_back(Allow("Place", {"ec2:CreatePlacementGroup", "ec2:DeletePlacementGroup"},
                      ec2 + "placement-group/stoker-" + ledger + "*"));
  all.push_back(Allow("TagNew", "ec2:CreateTags", "*",
                      {{"ec2:CreateAction", {"RunInstances", "CreatePlacementGroup"}}}));
  all.push_back(
      Allow("Own", {"ec2:TerminateInstances", "ec2:DeleteVolume", "ec2:RevokeSecurityGroupIngress"},
            {ec2 + "instance/*", ec2 + "volume/*", ec2 + "security-group/*"}, {{tag, ledger}}));
  all.push_back(Allow("Console", "ec2:GetConsoleOutput", ec2 + "instance/*", {{tag, ledger}}));
  all.push_back(Allow("Start", "ec2:StartInstances", ec2 + "instance/*",
                      {{tag, ledger}, {"ec2:InstanceType", bound.types}}));
  // Values of submitters, which go with their jobs: they are listed and removed, and not read. A
  // list is asked of the folder itself.
  const std::string secrets = "arn:" + partition + ":ssm:*:*:parameter/stoker/" + ledger;
  all.push_back(Allow("Secrets", {"ssm:GetParametersByPath", "ssm:DeleteParameter"},
                      {secrets, secrets + "/*"}));
  all.push_back(
      Allow("Role", "iam:PassRole", role_arn, {{"iam:PassedToService", "ec2.amazonaws.com"}}));
  return out.dump();
}

}  // namespace stoker::ec2
