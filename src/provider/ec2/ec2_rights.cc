// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_rights.h"

#include <algorithm>

#include "aws/config.h"
#include "base/json.h"
#include "base/text.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/api/ec2_role.h"
#include "provider/ec2/ec2_holdings.h"
#include "provider/ec2/ec2_options.h"
#include "provider/ec2/ec2_request.h"
#include "provider/ec2/ec2_resolve.h"

namespace stoker {
namespace {

using nlohmann::ordered_json;

constexpr char kEc2Service[] = "ec2.amazonaws.com";
constexpr char kTrustFile[] = "node-trust.json";
constexpr char kNodeLogsFile[] = "node-logs.json";
constexpr char kInstallerFile[] = "installer.json";
constexpr char kImagesFile[] = "images.json";

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

enum Who { kSubmitter = 1, kNode = 2, kBoth = kSubmitter | kNode };

// A statement in the policies of `who`; a new right is a line of Table(). `condition`: null = none.
struct Allowed {
  Who who;
  const char* sid;
  std::vector<std::string> actions;
  std::vector<std::string> resources;
  ordered_json condition = nullptr;
};

std::vector<std::string> Lists() {
  std::vector<std::string> out;
  for (const char* action : kLook) out.push_back(std::string("ec2:") + action);
  out.emplace_back("ec2:GetConsoleOutput");  // of a machine that could not begin
  return out;
}

// All that EC2 and what is beside it must allow. `arn`: the part of the cloud, "arn:aws".
std::vector<Allowed> Table(const std::string& arn, const std::string& role) {
  const ordered_json own = {
      {"Null", {{std::string("aws:ResourceTag/") + ec2::kLedgerTag, "false"}}}};
  const std::string machines = arn + ":ec2:*:*:instance/*";
  const std::string groups = arn + ":ec2:*:*:security-group/*";
  const std::string secrets = arn + ":ssm:*:*:parameter/stoker/*";
  constexpr const char* kSpot = "spot.amazonaws.com";
  return {
      {kSubmitter, "Look", Lists(), {"*"}},  // lists cannot be limited to resources
      {kNode, "Look", {"ec2:DescribeInstances"}, {"*"}},
      {kSubmitter,
       "Group",
       {"ec2:CreateSecurityGroup", "ec2:AuthorizeSecurityGroupIngress",
        "ec2:AuthorizeSecurityGroupEgress"},
       {groups, arn + ":ec2:*:*:security-group-rule/*", arn + ":ec2:*:*:vpc/*"}},
      // Those of Amazon belong to no account.
      {kSubmitter, "Image", {"ssm:GetParameter"}, {arn + ":ssm:*:*:parameter/aws/service/*"}},
      {kSubmitter, "Profile", {"iam:GetInstanceProfile"}, {arn + ":iam::*:instance-profile/*"}},
      // Whether the role may use the store, before there is a machine.
      {kSubmitter, "Simulate", {"iam:SimulatePrincipalPolicy"}, {arn + ":iam::*:role/" + role}},
      // Values of submitters, which lie there for the life of a job: they put them, and need not
      // read them. Of all ledgers: which ones an account has is not known here.
      {kSubmitter,
       "Secrets",
       {"ssm:PutParameter", "ssm:AddTagsToResource", "ssm:GetParametersByPath",
        "ssm:DeleteParameter"},
       {secrets}},
      {kNode, "Secrets", {"ssm:GetParameter", "ssm:DeleteParameter"}, {secrets}},
      {kBoth, "Launch", {"ec2:RunInstances"}, {"*"}},
      // By its name and not by its tag, so that to delete one that is gone is no denial.
      {kBoth,
       "Place",
       {"ec2:CreatePlacementGroup", "ec2:DeletePlacementGroup"},
       {arn + ":ec2:*:*:placement-group/stoker-*"}},
      {kBoth,
       "TagNew",
       {"ec2:CreateTags"},
       {"*"},
       {{"StringEquals",
         {{"ec2:CreateAction",
           {"RunInstances", "CreateSecurityGroup", "CreatePlacementGroup",
            "AuthorizeSecurityGroupIngress"}}}}}},
      // Only what carries a ledger's tag: 'stoker gc'; a node moves its lease.
      {kSubmitter,
       "Own",
       {"ec2:TerminateInstances", "ec2:StartInstances", "ec2:DeleteVolume",
        "ec2:RevokeSecurityGroupIngress", "ec2:DeleteSecurityGroup"},
       {machines, arn + ":ec2:*:*:volume/*", groups},
       own},
      {kNode,
       "Own",
       {"ec2:TerminateInstances", "ec2:StartInstances", "ec2:CreateTags"},
       {machines},
       own},
      {kSubmitter, "Ssh", {"ec2-instance-connect:SendSSHPublicKey"}, {machines}, own},
      // The first who asks for spot in an account makes this role of Amazon's.
      {kSubmitter,
       "SpotRole",
       {"iam:CreateServiceLinkedRole"},
       {arn + ":iam::*:role/aws-service-role/" + kSpot + "/AWSServiceRoleForEC2Spot"},
       {{"StringEquals", {{"iam:AWSServiceName", kSpot}}}}},
      {kBoth,
       "Role",
       {"iam:PassRole"},
       {arn + ":iam::*:role/" + role},
       {{"StringEquals", {{"iam:PassedToService", kEc2Service}}}}},
  };
}

// One of a list is written alone, as Amazon's pages have it.
ordered_json OneOrMore(const std::vector<std::string>& all) {
  return all.size() == 1 ? ordered_json(all.front()) : ordered_json(all);
}

// Who may act with the role: machines of EC2.
std::string Trust() {
  return ordered_json({{"Version", "2012-10-17"},
                       {"Statement",
                        {{{"Effect", "Allow"},
                          {"Principal", {{"Service", kEc2Service}}},
                          {"Action", "sts:AssumeRole"}}}}})
      .dump(2);
}

// What reads a private registry, of a job whose image lies there: any of the account's.
std::string ImagesPolicy(const std::string& region) {
  const std::string all = "arn:" + AwsPartition(region) + ":ecr:*:*:repository/*";
  return ordered_json({{"Version", "2012-10-17"},
                       {"Statement",
                        {{{"Sid", "ImageLogin"},
                          {"Effect", "Allow"},
                          {"Action", "ecr:GetAuthorizationToken"},
                          {"Resource", "*"}},
                         {{"Sid", "Images"},
                          {"Effect", "Allow"},
                          {"Action", {"ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"}},
                          {"Resource", all}}}}})
      .dump(2);
}

// What nodes need besides, of a job that asks for lines in CloudWatch Logs: stoker's groups alone.
std::string LogsPolicy(const std::string& region) {
  const std::string groups = "arn:" + AwsPartition(region) + ":logs:*:*:log-group:/stoker/*";
  return ordered_json({{"Version", "2012-10-17"},
                       {"Statement",
                        {{{"Sid", "CloudLog"},
                          {"Effect", "Allow"},
                          {"Action", CloudLogActions()},
                          {"Resource", {groups, groups + ":*"}}}}}})
      .dump(2);
}

// What whoever types 'controller --install aws' and '--uninstall aws' needs besides: the parts of
// the function by their names alone. Sources: as of WithEc2Rights, for IAM, Lambda, EventBridge and
// CloudWatch Logs; a part that is made with tags needs the right to tag it.
std::string InstallerPolicy(const std::string& region) {
  const std::string arn = "arn:" + AwsPartition(region);
  const std::string name = std::string(ec2::kAwayName) + "*";
  const std::string role = arn + ":iam::*:role/" + name;
  const auto allow = [](const char* sid, const std::vector<std::string>& actions,
                        const std::string& resource) {
    return ordered_json({{"Sid", sid},
                         {"Effect", "Allow"},
                         {"Action", OneOrMore(actions)},
                         {"Resource", resource}});
  };
  ordered_json pass = allow("AwayPass", {"iam:PassRole"}, role);
  pass["Condition"] = {{"StringEquals", {{"iam:PassedToService", "lambda.amazonaws.com"}}}};
  return ordered_json(
             {{"Version", "2012-10-17"},
              {"Statement",
               {allow("AwayRole",
                      {"iam:CreateRole", "iam:TagRole", "iam:GetRole", "iam:PutRolePolicy",
                       "iam:DeleteRolePolicy", "iam:DeleteRole"},
                      role),
                pass,
                allow("AwayProfile", {"iam:GetInstanceProfile"},
                      arn + ":iam::*:instance-profile/*"),
                allow("AwayFunction",
                      {"lambda:CreateFunction", "lambda:TagResource", "lambda:GetFunction",
                       "lambda:UpdateFunctionCode", "lambda:UpdateFunctionConfiguration",
                       "lambda:PutFunctionEventInvokeConfig", "lambda:PutFunctionConcurrency",
                       "lambda:AddPermission", "lambda:DeleteFunction"},
                      arn + ":lambda:*:*:function:" + name),
                allow("AwayRules",
                      {"events:PutRule", "events:TagResource", "events:PutTargets",
                       "events:DescribeRule", "events:RemoveTargets", "events:DeleteRule"},
                      arn + ":events:*:*:rule/" + name),
                allow("AwayLog",
                      {"logs:CreateLogGroup", "logs:TagResource", "logs:PutRetentionPolicy",
                       "logs:DeleteLogGroup"},
                      arn + ":logs:*:*:log-group:/aws/lambda/" + name),
                // Lists cannot be limited to resources.
                allow("AwayLook", {"logs:DescribeLogGroups"}, "*")}}})
      .dump(2);
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
  const bool there =
      EndsWith(reply->failure->code, "NotFound") || EndsWith(reply->failure->code, "AlreadyExists");
  if (why.Is(Code::kNotFound) || there) return {action, Tried::kAllowed, ""};
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

// A parameter as a job's secret would be one, put and removed. Who may not put has none to remove,
// and is told of its absence where he may remove.
void TrySecrets(AwsApi& api, const std::string& region, const std::string& ledger_id,
                std::vector<RightTried>* out) {
  const std::string folder = "/stoker/" + ledger_id;
  const auto ask = [&](const char* action, const ordered_json& body) {
    Call call{"ssm", region, action};
    call.json = body.dump();
    out->push_back(Outcome(std::string("ssm:") + action, api.Repeat(call)));
  };
  const std::string name = folder + "/trial/TRIAL";
  ask("PutParameter", {{"Name", name},
                       {"Value", "trial"},
                       {"Type", "SecureString"},
                       {"Tags", {{{"Key", ec2::kLedgerTag}, {"Value", ledger_id}}}}});
  ask("GetParametersByPath", {{"Path", folder}, {"WithDecryption", false}});
  ask("DeleteParameter", {{"Name", name}});
}

// Beside the roles of a bucket of Google's, which stay: policies of Amazon's, and how Google gets
// to know the machines' role.
Rights WithIdentity(Rights rights, const std::string& store, const std::string& role) {
  constexpr char kNone[] = R"({"Version": "2012-10-17", "Statement": []})";
  rights.files.push_back({kSubmitterFile, "whoever submits and looks, of Amazon's IAM", kNone});
  rights.files.push_back({kNodeFile, "machines that run jobs, of Amazon's IAM", kNone});
  const std::string pools = "gcloud iam workload-identity-pools ";
  const std::string there = " --project=PROJECT --location=global";
  const std::string pool = "projects/NUMBER/locations/global/workloadIdentityPools/stoker";
  for (const std::string& command :
       {"aws iam create-policy --policy-name stoker-submitter --policy-document file://" +
            std::string(kRightsFolder) + "/" + kSubmitterFile,
        std::string("aws iam attach-user-policy --user-name NAME --policy-arn "
                    "arn:aws:iam::ACCOUNT:policy/stoker-submitter"),
        pools + "create stoker" + there,
        pools + "providers create-aws stoker-aws" + there +
            " --workload-identity-pool=stoker --account-id=ACCOUNT",
        "gcloud storage buckets add-iam-policy-binding " + store.substr(0, store.find('/', 5)) +
            " --role=projects/PROJECT/roles/stokerBucketNode "
            "--member=principalSet://iam.googleapis.com/" +
            pool + "/attribute.aws_role/arn:aws:sts::ACCOUNT:assumed-role/" + role,
        "stoker config set aws.google_identity " + pool + "/providers/stoker-aws"}) {
    rights.commands.push_back(command);
  }
  rights.how += "Roles of machines are Amazon's, and the bucket is Google's: both must be made.\n";
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
  TrySecrets(api, region, ledger_id, &out);
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
  for (const char* action : {"AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupEgress",
                             "RevokeSecurityGroupIngress"}) {
    if (group.empty()) {
      try_on(action, "", "");
    } else {
      out.push_back(TryDry(api, region, action,
                           {{"GroupId", group},
                            {"IpPermissions.1.IpProtocol", "-1"},
                            {"IpPermissions.1.Groups.1.GroupId", group}}));
    }
  }
  try_on("DeleteSecurityGroup", group, "GroupId");
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
  for (const Allowed& each : Table("arn:" + AwsPartition(region), role)) {
    if ((each.who & (submitter ? kSubmitter : kNode)) == 0) continue;
    ordered_json statement = {{"Sid", each.sid},
                              {"Effect", "Allow"},
                              {"Action", OneOrMore(each.actions)},
                              {"Resource", OneOrMore(each.resources)}};
    if (!each.condition.is_null()) statement["Condition"] = each.condition;
    out["Statement"].push_back(statement);
  }
  return out.dump(2);
}

Result<Rights> AddEc2Rights(Rights rights, const std::string& store_url, const std::string& region,
                            const std::string& role) {
  if (StartsWith(store_url, "gs://")) rights = WithIdentity(std::move(rights), store_url, role);
  for (const bool submitter : {true, false}) {
    const std::string name = submitter ? kSubmitterFile : kNodeFile;
    std::string* policy = rights.Find(name);
    if (policy == nullptr) return Status(Code::kInternal, "the rights of the store lack " + name);
    STOKER_ASSIGN(*policy, WithEc2Rights(*policy, region, role, submitter));
  }
  rights.files.push_back({kTrustFile, "the role of the machines: who may act with it", Trust()});
  const std::string file = std::string("file://") + kRightsFolder + "/";
  const std::vector<std::string> made = {
      "aws iam create-role --role-name " + role + " --assume-role-policy-document " + file +
          kTrustFile,
      "aws iam put-role-policy --role-name " + role + " --policy-name stoker --policy-document " +
          file + kNodeFile,
      "aws iam create-instance-profile --instance-profile-name " + role,
      "aws iam add-role-to-instance-profile --instance-profile-name " + role + " --role-name " +
          role};
  rights.commands.insert(rights.commands.begin(), made.begin(), made.end());
  rights.files.push_back(
      {kNodeLogsFile, "the same, of jobs with 'logs: {cloud: true}' alone", LogsPolicy(region)});
  rights.commands.push_back("aws iam put-role-policy --role-name " + role +
                            " --policy-name stoker-logs --policy-document " + file + kNodeLogsFile);
  rights.files.push_back(
      {kImagesFile, "the same, of jobs with an image of ECR alone", ImagesPolicy(region)});
  rights.commands.push_back("aws iam put-role-policy --role-name " + role +
                            " --policy-name stoker-images --policy-document " + file + kImagesFile);
  rights.how += std::string("Leave ") + kNodeLogsFile +
                " out where no job has 'logs: {cloud: true}'.\n" + "Leave " + kImagesFile +
                " out where no job's image is of ECR; who submits needs it, too, where docker has "
                "no login.\n";
  if (StartsWith(store_url, "gs://")) return rights;  // there is no function for one
  rights.files.push_back({kInstallerFile,
                          "whoever types 'stoker controller --install aws', beside the submitter's",
                          InstallerPolicy(region)});
  rights.how += std::string(kInstallerFile) +
                " is bound to no command: by it a function can be made that may do anything, so "
                "it is for those who manage the account.\n";
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
             " --write iam' writes iam/submitter.json, and prints the commands by which whoever "
             "manages the account attaches it"});
  }
  return findings;
}

}  // namespace stoker
