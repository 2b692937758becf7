// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/broker/ec2_rights.h"

#include "aws/config.h"
#include "base/json.h"
#include "base/text.h"
#include "provider/ec2/api/ec2_role.h"
#include "provider/ec2/ec2_request.h"

namespace stoker {
namespace {

using nlohmann::ordered_json;

constexpr char kEc2Service[] = "ec2.amazonaws.com";

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
  rights.files.push_back(
      {ec2::kTrustFile, "the role of the machines: who may act with it", Trust()});
  const std::string file = std::string("file://") + kRightsFolder + "/";
  const std::vector<std::string> made = {
      "aws iam create-role --role-name " + role + " --assume-role-policy-document " + file +
          ec2::kTrustFile,
      "aws iam put-role-policy --role-name " + role + " --policy-name stoker --policy-document " +
          file + kNodeFile,
      "aws iam create-instance-profile --instance-profile-name " + role,
      "aws iam add-role-to-instance-profile --instance-profile-name " + role + " --role-name " +
          role};
  rights.commands.insert(rights.commands.begin(), made.begin(), made.end());
  rights.files.push_back({ec2::kNodeLogsFile, "the same, of jobs with 'logs: {cloud: true}' alone",
                          LogsPolicy(region)});
  rights.commands.push_back("aws iam put-role-policy --role-name " + role +
                            " --policy-name stoker-logs --policy-document " + file +
                            ec2::kNodeLogsFile);
  rights.files.push_back(
      {ec2::kImagesFile, "the same, of jobs with an image of ECR alone", ImagesPolicy(region)});
  rights.commands.push_back("aws iam put-role-policy --role-name " + role +
                            " --policy-name stoker-images --policy-document " + file +
                            ec2::kImagesFile);
  rights.how += std::string("Leave ") + ec2::kNodeLogsFile +
                " out where no job has 'logs: {cloud: true}'.\n" + "Leave " + ec2::kImagesFile +
                " out where no job's image is of ECR; who submits needs it, too, where docker has "
                "no login.\n";
  if (StartsWith(store_url, "gs://")) return rights;  // there is no function for one
  rights.files.push_back({ec2::kInstallerFile,
                          "whoever types 'stoker controller --install aws', beside the submitter's",
                          InstallerPolicy(region)});
  rights.how += std::string(ec2::kInstallerFile) +
                " is bound to no command: by it a function can be made that may do anything, so "
                "it is for those who manage the account.\n";
  return rights;
}

}  // namespace stoker
