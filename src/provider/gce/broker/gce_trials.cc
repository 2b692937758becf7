// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/broker/gce_trials.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "provider/gce/gce_errors.h"
#include "provider/gce/gce_rights.h"
#include "store/rights.h"

namespace stoker {
namespace {

constexpr char kActs[] = "iam.serviceAccounts.actAs";

// A file of the rights: whether Google is asked, what doctor calls that, how bad it is where any of
// it lacks, and what follows, or why nothing tries it.
struct FileLooked {
  const char* file;
  bool asked;
  const char* what;
  const char* level;
  const char* words;
};
constexpr FileLooked kFiles[] = {
    {kSubmitterFile, true, "rights", "bad",
     "'stoker doctor --iam --infra gcp --write iam' writes iam/submitter.json, and prints the "
     "commands by which whoever manages the project binds it"},
    {gce::kSubmitterSecretsFile, true, "rights of secrets", "note",
     "where they are bound to stoker's names alone, as submitter-secrets.json is, Google does not "
     "tell them of the project: a job with secrets tries them"},
    {gce::kInstallerFile, true, "rights of an installer", "note",
     "'stoker controller --install gcp' alone needs them: away-installer.json"},
    {kBucketSubmitterFile, false, "rights of the bucket", "note",
     "the store is looked at beside this"},
    {kNodeFile, false, "node.json", "note",
     "Google says of nobody else what he may. What the account of the machines lacks is in the "
     "job's record, in 'stoker show' and in the node's log"},
    {gce::kNodeSecretsFile, false, "node-secrets.json", "note", "as of node.json"},
    {gce::kNodeLogsFile, false, "node-logs.json", "note", "as of node.json"},
    {kBucketNodeFile, false, "bucket-node.json", "note", "as of node.json"},
    {gce::kAwayFile, false, "away.json", "note",
     "the account of what '--install gcp' makes has them, which says in its log what it lacks"},
};

// Which of `asked` whoever asks lacks.
Result<std::vector<std::string>> AskGoogle(const MakeGoogleApi& make, const std::string& service,
                                           const std::string& resource,
                                           const std::vector<std::string>& asked) {
  STOKER_ASSIGN(const auto api, make(service));
  const gce::Call call{"POST",
                       "v1/" + resource + ":testIamPermissions",
                       {},
                       nlohmann::json({{"permissions", asked}}).dump()};
  STOKER_ASSIGN(const gce::Reply reply, api->Repeat(call));
  if (reply.failure) return gce::StatusOf(service + ": " + gce::Described(call), *reply.failure);
  return gce::LackingIn(reply.body, asked);
}

Finding Tell(const FileLooked& file, const std::string& where,
             const std::vector<std::string>& asked,
             const Result<std::vector<std::string>>& lacking) {
  if (!lacking.ok()) {
    return {file.what, "note",
            "not tried: " + Join(asked, ", ") + ": " + lacking.status().ToString()};
  }
  if (lacking->empty()) {
    return {file.what, "ok", "allowed on " + where + ": " + Join(asked, ", ")};
  }
  return {file.what, file.level,
          "not allowed on " + where + ": " + Join(*lacking, ", ") + ". " + file.words};
}

}  // namespace

std::vector<Finding> TellGceRights(const MakeGoogleApi& make, const std::string& project,
                                   const std::string& account, bool addresses, Rights rights) {
  std::vector<Finding> out;
  for (const FileLooked& file : kFiles) {
    const std::string* role = rights.Find(file.file);
    if (role == nullptr) continue;
    std::vector<std::string> wanted = gce::PermissionsIn(*role);
    if (!addresses) std::erase(wanted, "compute.subnetworks.useExternalIp");
    if (!file.asked) {
      out.push_back(
          {file.what, file.level, "not tried: " + Join(wanted, ", ") + ": " + file.words});
      continue;
    }
    const std::string resource = "projects/" + project;
    out.push_back(
        Tell(file, project, wanted, AskGoogle(make, "cloudresourcemanager", resource, wanted)));
  }
  const FileLooked acts{
      "", true, "acting as the account", "bad",
      "'stoker doctor --iam --infra gcp' prints the command that binds "
      "roles/iam.serviceAccountUser on it. Of an account that is not there Google "
      "says the same"};
  out.push_back(Tell(acts, account, {kActs},
                     AskGoogle(make, "iam", "projects/-/serviceAccounts/" + account, {kActs})));
  return out;
}

namespace gce {

std::string HowLookedAt(const std::string& file) {
  for (const FileLooked& each : kFiles) {
    if (file == each.file) return each.asked ? "asked" : "not tried";
  }
  return "";
}

std::vector<std::string> PermissionsIn(const std::string& role) {
  std::vector<std::string> out;
  const auto told = nlohmann::json::parse(role, nullptr, false);
  if (!told.is_object() || !told.contains("includedPermissions")) return out;
  for (const auto& each : told["includedPermissions"]) {
    if (each.is_string()) out.push_back(each.get<std::string>());
  }
  return out;
}

std::vector<std::string> LackingIn(const std::string& json, const std::vector<std::string>& asked) {
  std::vector<std::string> has;
  const auto told = nlohmann::json::parse(json, nullptr, false);
  if (told.is_object() && told.contains("permissions") && told["permissions"].is_array()) {
    for (const auto& each : told["permissions"]) {
      if (each.is_string()) has.push_back(each.get<std::string>());
    }
  }
  std::vector<std::string> out;
  for (const std::string& each : asked) {
    if (std::find(has.begin(), has.end(), each) == has.end()) out.push_back(each);
  }
  return out;
}

}  // namespace gce
}  // namespace stoker
