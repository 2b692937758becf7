// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_rights.h"

#include <algorithm>

#include "aws/config.h"
#include "base/json.h"
#include "base/text.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/ec2_holdings.h"
#include "provider/ec2/ec2_options.h"
#include "provider/ec2/ec2_request.h"
#include "provider/ec2/ec2_resolve.h"

namespace stoker {
namespace {

using nlohmann::ordered_json;

// Lists of the submitter's.
constexpr const char* kLook[] = {"DescribeAvailabilityZones",
                                 "DescribeCapacityReservations",
                                 "DescribeImages",
                                 "DescribeInstances",
                                 "DescribeInstanceTypeOfferings",
                                 "DescribeInstanceTypes",
                                 "DescribePlacementGroups",
                                 "DescribeRegions",
                                 "DescribeRouteTables",
                                 "DescribeSecurityGroups",
                                 "DescribeSecurityGroupRules",
                                 "DescribeSpotPriceHistory",
                                 "DescribeSubnets",
                                 "DescribeVolumes",
                                 "DescribeVpcEndpoints",
                                 "DescribeVpcs"};

ordered_json Allow(const char* sid, const ordered_json& actions, const ordered_json& resource) {
  return {{"Sid", sid}, {"Effect", "Allow"}, {"Action", actions}, {"Resource", resource}};
}

using ec2::AwsApi;
using ec2::Call;
using ec2::Failure;

// EC2 says which right it was that lacked, of the several that a call needs: "… is not authorized
// to perform: iam:PassRole on resource: …".
std::string LackedIn(const Failure& failure, const std::string& action) {
  if (EndsWith(failure.code, "ServiceLinkedRoleCreationNotPermitted")) {
    return "iam:CreateServiceLinkedRole";
  }
  constexpr std::string_view kMark = "perform: ";
  const size_t at = failure.message.find(kMark);
  if (at == std::string::npos) return action;
  const size_t begin = at + kMark.size();
  return failure.message.substr(begin, failure.message.find(' ', begin) - begin);
}

RightTried Outcome(const std::string& action, const Result<ec2::Reply>& reply) {
  if (!reply.ok()) return {action, Tried::kUnknown, reply.status().ToString()};
  if (!reply->failure || reply->failure->code == "DryRunOperation") {
    return {action, Tried::kAllowed, ""};
  }
  const Status why = ec2::StatusOf(ec2::Described({"", "", action}), *reply->failure);
  if (why.Is(Code::kDenied)) {
    const std::string said = reply->failure->code + (why.next().empty() ? "" : "; " + why.next());
    return {LackedIn(*reply->failure, action), Tried::kDenied, said};
  }
  // It was let through, to be refused for what it asks.
  if (why.Is(Code::kNotFound)) return {action, Tried::kAllowed, ""};
  return {action, Tried::kUnknown, why.ToString()};
}

RightTried TryDry(AwsApi& api, const std::string& region, const std::string& action,
                  ec2::Params params = {}) {
  params.emplace_back("DryRun", "true");
  return Outcome("ec2:" + action, api.Repeat({"ec2", region, action, std::move(params)}));
}

// A launch of the usual machine, which needs all that is needed to read, too. On spot the account
// must have a role of its own, or whoever asks first must be allowed to make it.
RightTried TryLaunch(AwsApi& api, const std::string& region, const std::string& profile,
                     bool spot) {
  const std::string action = "ec2:RunInstances";
  Ec2Wish wish;
  wish.spot = spot;
  wish.region = region;
  wish.profile = profile;
  const auto offers = ResolveEc2(api, wish);
  if (!offers.ok()) return {action, Tried::kUnknown, offers.status().ToString()};
  LaunchRequest trial;
  trial.token = "trial";
  trial.job = "trial";
  trial.ledger_id = "trial";
  trial.launches = {1};
  trial.ask = offers->front().ask;
  trial.not_after = api.Now();
  const auto options = ec2::ParseOptions(trial.ask.options);
  if (!options.ok()) return {action, Tried::kUnknown, options.status().ToString()};
  auto params = ec2::RunInstances(trial, *options, "");
  if (!params.ok()) return {action, Tried::kUnknown, params.status().ToString()};
  return TryDry(api, region, "RunInstances", std::move(*params));
}

// The machines' own policies, beside the roles of a bucket of Google's, which are its own affair.
Rights WithIdentity(const std::string& store) {
  const std::string bucket = store.substr(0, store.find('/', 5));
  Rights rights;
  rights.submitter = rights.node = R"({"Version": "2012-10-17", "Statement": []})";
  rights.how =
      "These are policies of Amazon's IAM: attach the first to the users or roles that submit, and "
      "the second to the role of the machines. The bucket is Google's: what it must allow, 'stoker "
      "doctor --iam' prints. Google must know the machines' role, and let it in:\n"
      "  gcloud iam roles create stokerNode --project=PROJECT --file=node.json  # of 'doctor "
      "--iam'\n"
      "  gcloud iam workload-identity-pools create stoker --project=PROJECT --location=global\n"
      "  gcloud iam workload-identity-pools providers create-aws stoker-aws --project=PROJECT "
      "--location=global --workload-identity-pool=stoker --account-id=AWS_ACCOUNT\n"
      "  gcloud storage buckets add-iam-policy-binding " +
      bucket +
      " --role=projects/PROJECT/roles/stokerNode --member=principalSet://iam.googleapis.com/"
      "projects/NUMBER/locations/global/workloadIdentityPools/stoker/attribute.aws_role/"
      "arn:aws:sts::AWS_ACCOUNT:assumed-role/ROLE\n"
      "  stoker config set aws.google_identity projects/NUMBER/locations/global/"
      "workloadIdentityPools/stoker/providers/stoker-aws\n";
  return rights;
}

}  // namespace

std::vector<RightTried> TryEc2Rights(AwsApi& api, const std::string& region,
                                     const std::string& ledger_id, const std::string& profile) {
  std::vector<RightTried> out;
  (void)api.Forget();  // what was allowed an hour ago may not be now
  for (const char* action : kLook) out.push_back(TryDry(api, region, action));
  Call image{"ssm", region, "GetParameter"};
  image.json =
      R"({"Name":"/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"})";
  out.push_back(Outcome("ssm:GetParameter", api.Repeat(image)));
  out.push_back(Outcome(
      "iam:GetInstanceProfile",
      api.Repeat({"iam", region, "GetInstanceProfile", {{"InstanceProfileName", profile}}})));
  out.push_back(TryLaunch(api, region, profile, false));
  out.push_back(TryLaunch(api, region, profile, true));
  if (out.back().outcome != Tried::kDenied) out.back().action += " on spot";
  out.push_back(TryDry(api, region, "CreateSecurityGroup",
                       {{"GroupName", ec2::GroupName(ledger_id) + "-trial"},
                        {"GroupDescription", "stoker: a trial"},
                        {"TagSpecification.1.ResourceType", "security-group"},
                        {"TagSpecification.1.Tag.1.Key", ec2::kLedgerTag},
                        {"TagSpecification.1.Tag.1.Value", ledger_id}}));
  // These need something to be tried on.
  std::vector<std::string> troubles;
  std::string machine, group;
  for (const Holding& one :
       Ec2Holdings(api, region, ledger_id, &troubles).value_or(std::vector<Holding>())) {
    if (one.kind == HoldingKind::kMachine) machine = one.id;
    if (one.kind == HoldingKind::kGroup) group = one.id;
  }
  const auto try_on = [&](const char* action, const std::string& on, const char* name) {
    if (on.empty()) {
      out.push_back({std::string("ec2:") + action, Tried::kUnknown,
                     "there is nothing yet to try it on: ask again once a job runs"});
    } else {
      out.push_back(TryDry(api, region, action, {{name, on}}));
    }
  };
  for (const char* action : {"AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupEgress"}) {
    if (group.empty()) {
      try_on(action, "", "");
    } else {
      out.push_back(TryDry(api, region, action,
                           {{"GroupId", group},
                            {"IpPermissions.1.IpProtocol", "-1"},
                            {"IpPermissions.1.Groups.1.GroupId", group}}));
    }
  }
  out.push_back(
      TryDry(api, region, "CreatePlacementGroup",
             {{"GroupName", ec2::GroupName(ledger_id) + "-trial"}, {"Strategy", ec2::kCluster}}));
  out.push_back(TryDry(api, region, "DeletePlacementGroup",
                       {{"GroupName", ec2::GroupName(ledger_id) + "-trial"}}));
  try_on("TerminateInstances", machine, "InstanceId.1");
  try_on("StartInstances", machine, "InstanceId.1");
  try_on("GetConsoleOutput", machine, "InstanceId");
  return out;
}

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
    ordered_json look = ordered_json::array();
    for (const char* action : kLook) look.push_back(std::string("ec2:") + action);
    look.push_back("ec2:GetConsoleOutput");  // of a machine that could not begin
    all.push_back(Allow("Look", look, "*"));
    all.push_back(Allow("Group",
                        {"ec2:CreateSecurityGroup", "ec2:AuthorizeSecurityGroupIngress",
                         "ec2:AuthorizeSecurityGroupEgress"},
                        {arn + ":ec2:*:*:security-group/*", arn + ":ec2:*:*:security-group-rule/*",
                         arn + ":ec2:*:*:vpc/*"}));
    // Those of Amazon belong to no account.
    all.push_back(Allow("Image", "ssm:GetParameter", arn + ":ssm:*:*:parameter/aws/service/*"));
    all.push_back(Allow("Profile", "iam:GetInstanceProfile", arn + ":iam::*:instance-profile/*"));
  } else {
    all.push_back(Allow("Look", "ec2:DescribeInstances", "*"));
  }
  all.push_back(Allow("Launch", "ec2:RunInstances", "*"));
  // By its name and not by its tag, so that to delete one that is gone is no denial.
  all.push_back(Allow("Place", {"ec2:CreatePlacementGroup", "ec2:DeletePlacementGroup"},
                      arn + ":ec2:*:*:placement-group/stoker-*"));
  ordered_json tags = Allow("TagNew", "ec2:CreateTags", "*");
  tags["Condition"] = {{"StringEquals",
                        {{"ec2:CreateAction",
                          {"RunInstances", "CreateSecurityGroup", "CreatePlacementGroup",
                           "AuthorizeSecurityGroupIngress"}}}}};
  all.push_back(tags);
  // Only what carries a ledger's tag.
  ordered_json changes = {"ec2:TerminateInstances", "ec2:StartInstances"};
  ordered_json things = {arn + ":ec2:*:*:instance/*"};
  if (submitter) {  // 'stoker gc'
    changes.insert(changes.end(), {"ec2:DeleteVolume", "ec2:RevokeSecurityGroupIngress",
                                   "ec2:DeleteSecurityGroup"});
    things.insert(things.end(), {arn + ":ec2:*:*:volume/*", arn + ":ec2:*:*:security-group/*"});
  } else {  // a node moves its lease
    changes.push_back("ec2:CreateTags");
  }
  ordered_json own = Allow("Own", changes, things);
  own["Condition"] = {{"Null", {{std::string("aws:ResourceTag/") + ec2::kLedgerTag, "false"}}}};
  all.push_back(own);
  if (submitter) {  // 'stoker ssh'
    ordered_json key =
        Allow("Ssh", "ec2-instance-connect:SendSSHPublicKey", arn + ":ec2:*:*:instance/*");
    key["Condition"] = own["Condition"];
    all.push_back(key);
  }
  if (submitter) {  // the first who asks for spot in an account makes this role of Amazon's
    constexpr const char* kSpotService = "spot.amazonaws.com";
    ordered_json spot =
        Allow("SpotRole", "iam:CreateServiceLinkedRole",
              arn + ":iam::*:role/aws-service-role/" + kSpotService + "/AWSServiceRoleForEC2Spot");
    spot["Condition"] = {{"StringEquals", {{"iam:AWSServiceName", kSpotService}}}};
    all.push_back(spot);
  }
  ordered_json pass = Allow("Role", "iam:PassRole", arn + ":iam::*:role/" + role);
  pass["Condition"] = {{"StringEquals", {{"iam:PassedToService", "ec2.amazonaws.com"}}}};
  all.push_back(pass);
  return out.dump(2);
}

Result<Rights> AddEc2Rights(Rights rights, const std::string& store_url, const std::string& region,
                            const std::string& role) {
  if (StartsWith(store_url, "gs://")) rights = WithIdentity(store_url);
  for (std::string* policy : {&rights.submitter, &rights.node}) {
    const bool submitter = policy == &rights.submitter;
    STOKER_ASSIGN(*policy, WithEc2Rights(*policy, region, role, submitter));
  }
  return rights;
}

std::vector<Finding> TellRights(const std::vector<RightTried>& all, const std::string& region) {
  std::vector<Finding> findings;
  std::vector<std::string> lacking;
  for (const RightTried& tried : all) {
    const bool told = std::find(lacking.begin(), lacking.end(), tried.action) != lacking.end();
    if (tried.outcome == Tried::kDenied && !told) lacking.push_back(tried.action);
    const char* level = tried.outcome == Tried::kAllowed  ? "ok"
                        : tried.outcome == Tried::kDenied ? "bad"
                                                          : "note";
    findings.push_back({tried.action, level,
                        tried.outcome == Tried::kAllowed ? "allowed in " + region
                        : tried.outcome == Tried::kDenied
                            ? "not allowed in " + region + " (" + tried.why + ")"
                            : "not known: " + tried.why});
  }
  if (!lacking.empty()) {
    findings.push_back(
        {"rights", "bad",
         "these lack: " + Join(lacking, ", ") + ". 'stoker doctor --iam --infra aws/" + region +
             "' prints submitter.json; whoever manages the account attaches it: aws iam "
             "put-user-policy --user-name NAME --policy-name stoker --policy-document "
             "file://submitter.json"});
  }
  return findings;
}

}  // namespace stoker
