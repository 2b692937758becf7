// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/api/ec2_role.h"

#include <algorithm>
#include <map>
#include <pugixml.hpp>
#include <vector>

#include "base/text.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/api/ec2_lists.h"
#include "provider/ec2/api/ec2_simulate.h"
#include "store/bucket_check.h"

namespace stoker {
namespace {

using Said = ec2::Simulated::Outcome;
constexpr char kInS3[] = "s3://";

// "arn:aws:s3:::bucket/prefix/x", an object that a node might write; `role` says the part of the
// cloud.
std::string AnObject(const std::string& role, const std::string& store_url) {
  const std::string partition = role.substr(0, role.find(':', 4));  // behind "arn:"
  return partition + ":s3:::" + store_url.substr(sizeof(kInS3) - 1) + "/x";
}

// What is said of each action, the worst where several statements have it. Errors: none of it is
// known but the names.
Status AskAll(ec2::AwsApi& api, const std::string& region, const std::string& role,
              const std::string& policy, std::map<std::string, Said>* out) {
  const std::vector<std::string> parts = Split(role, ':');  // arn, partition, iam, "", account
  const std::string account = parts.size() > 4 ? parts[4] : "";
  STOKER_ASSIGN(const auto questions, ec2::AskedOf(policy, region, account));
  for (const ec2::AskedRole& question : questions) {
    for (const std::string& action : question.actions) (*out)[action] = Said::kAllowed;
  }
  if (!StartsWith(role, "arn:")) return Status(Code::kInvalid, "that role is not told");
  for (const ec2::AskedRole& question : questions) {
    STOKER_ASSIGN(const ec2::Simulated told, ec2::Simulate(api, region, role, question));
    for (const auto& [action, said] : told.told) {
      (*out)[action] = ec2::Worse((*out)[action], said);
    }
  }
  return Status::Ok();
}

std::string NamesOf(const std::map<std::string, Said>& asked, std::initializer_list<Said> which) {
  std::vector<std::string> names;
  for (const auto& [action, said] : asked) {
    if (std::find(which.begin(), which.end(), said) != which.end()) names.push_back(action);
  }
  return Join(names, ", ");
}

std::string RoleName(const std::string& role) { return role.substr(role.rfind('/') + 1); }

Status RoleDenied(const std::string& region, const std::string& role, const std::string& store_url,
                  const ec2::Simulated& told) {
  const std::string name = RoleName(role);
  return Status(Code::kDenied,
                "the role of the machines, " + Printable(name) + ", may not use " + store_url +
                    " (" + Join(told.lacks, ", ") +
                    (told.outcome == Said::kDenied ? "): a policy denies it"
                                                   : "): no policy of it allows that"),
                "'stoker doctor --iam --infra aws/" + region +
                    " --write iam' writes its policy; aws iam put-role-policy --role-name " + name +
                    " --policy-name stoker --policy-document file://iam/node.json. One that was "
                    "put just now is known after some seconds");
}

}  // namespace

namespace ec2 {

Result<std::string> RoleOfProfile(AwsApi& api, const std::string& region,
                                  const std::string& profile) {
  Call call{"iam", region, "GetInstanceProfile", {{"InstanceProfileName", profile}}};
  call.good_for = kHour;
  const auto reply = api.Repeat(call);
  // Who may not ask is told by EC2 when a machine is asked for.
  if (!reply.ok()) return reply.status();
  if (!reply->failure) {
    pugi::xml_document document;
    (void)document.load_buffer(reply->body.data(), reply->body.size());
    const auto found = document.child("GetInstanceProfileResponse")
                           .child("GetInstanceProfileResult")
                           .child("InstanceProfile");
    return std::string(found.child("Roles").child("member").child_value("Arn"));
  }
  if (StatusOf("", *reply->failure).Is(Code::kDenied)) return std::string();
  if (StatusOf("", *reply->failure).Is(Code::kNotFound)) {
    return Status(Code::kNotFound,
                  "the account has no instance profile '" + Printable(profile) +
                      "', with which machines would reach the store",
                  "Make it (docs/aws.md has the commands), or name another: stoker config set "
                  "aws.instance_profile NAME");
  }
  return StatusOf("looking for the instance profile " + profile, *reply->failure);
}

}  // namespace ec2

RoleFound LookAtRole(ec2::AwsApi& api, const std::string& region, const std::string& role,
                     const std::string& store_url) {
  if (!StartsWith(store_url, kInS3)) return {false, {}, "the store is in no bucket of S3"};
  if (!StartsWith(role, "arn:")) return {false, {}, "the role of the machines is not told"};
  const auto told = ec2::Simulate(
      api, region, role,
      {{"s3:GetObject", "s3:PutObject", "s3:DeleteObject"}, AnObject(role, store_url)});
  if (!told.ok()) return {false, {}, told.status().ToString()};
  if (told->outcome == Said::kAllowed) return {true, {}, ""};
  if (told->outcome == Said::kUnclear) {
    return {false, {}, "a policy depends on what only a real request has"};
  }
  if (told->outcome == Said::kNoPolicy) {
    const auto policy = ReadBucketPolicy(store_url);
    if (policy.ok()) return {false, {}, "no policy of the role allows it; the bucket's own may"};
    if (!policy.status().Is(Code::kNotFound)) {
      return {false,
              {},
              "no policy of the role allows it; whether the bucket's own does cannot be read: " +
                  policy.status().ToString()};
    }
  }
  return {true, RoleDenied(region, role, store_url, *told), ""};
}

Finding TellRole(ec2::AwsApi& api, const std::string& region, const std::string& profile,
                 const std::string& store_url) {
  Finding finding{"role of the machines", "note", ""};
  const auto role = ec2::RoleOfProfile(api, region, profile);
  if (!role.ok()) {
    finding.level = "bad";
    finding.text = role.status().ToString();
    return finding;
  }
  const RoleFound found = LookAtRole(api, region, *role, store_url);
  if (!found.known) {
    finding.text = "whether it may use the store is not known: " + found.why;
    return finding;
  }
  if (!found.may.ok()) {
    finding.level = "bad";
    finding.text = found.may.ToString();
    return finding;
  }
  finding.level = "ok";
  finding.text = RoleName(*role) + " may use the store";
  return finding;
}

std::vector<std::string> CloudLogActions() {
  return {"logs:CreateLogGroup", "logs:PutRetentionPolicy", "logs:CreateLogStream",
          "logs:PutLogEvents", "logs:GetLogEvents"};
}

std::vector<Finding> TellRoleMore(ec2::AwsApi& api, const std::string& region,
                                  const std::string& role,
                                  const std::vector<RolePolicy>& policies) {
  std::vector<Finding> all;
  for (const RolePolicy& policy : policies) {
    std::map<std::string, Said> asked;
    const Status done = AskAll(api, region, role, policy.text, &asked);
    if (!done.ok()) {
      all.push_back({policy.what, "note",
                     "whether the role of the machines may is not known: " +
                         NamesOf(asked, {Said::kAllowed}) + ": " + done.ToString()});
      continue;
    }
    const std::string may = NamesOf(asked, {Said::kAllowed});
    const std::string open = NamesOf(asked, {Said::kUnclear});
    const std::string lacks = NamesOf(asked, {Said::kNoPolicy, Said::kDenied});
    std::vector<std::string> said;
    if (!may.empty()) said.push_back("may " + may);
    if (!open.empty()) said.push_back("may or may not, as a request is, " + open);
    if (!lacks.empty()) said.push_back("may not " + lacks + ": " + policy.lacks);
    all.push_back({policy.what, open.empty() && lacks.empty() ? "ok" : "note",
                   "the role of the machines " + Join(said, "; ")});
  }
  return all;
}

}  // namespace stoker
