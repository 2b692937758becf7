// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/away/run_parts.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"
#include "provider/gce/away/run_main.h"
#include "provider/gce/gce_request.h"

namespace stoker::gce {
namespace {

using Json = nlohmann::json;

constexpr char kArtifacts[] = "artifactregistry";
constexpr char kProjects[] = "cloudresourcemanager";
constexpr char kScheduler[] = "cloudscheduler";
constexpr char kIam[] = "iam";
constexpr char kRun[] = "run";

// In dollars, of tier-1 regions. Source: "Cloud Run pricing" (jobs), "Cloud Scheduler pricing",
// "Artifact Registry pricing", "Cloud Storage pricing", as read in November 2026.
constexpr char kMonthOf[] = "November 2026";
constexpr double kPerCpuSecond = 0.000018;
constexpr double kPerGibSecond = 0.000002;
constexpr double kFreeCpuSeconds = 240'000;
constexpr double kPerSchedule = 0.1;
constexpr double kPerImageGb = 0.1;
constexpr double kPerPut = 0.005 / 1000;  // and list
constexpr double kPerGet = 0.0004 / 1000;
// Of one run, while nothing happens; Cloud Run bills a minute at least.
constexpr double kSecondsOfRun = 60, kPutsOfRun = 6, kGetsOfRun = 6;
constexpr double kImageGb = 0.007;

ServiceCall Of(const char* service, const char* method, std::string path, const Json& body = {},
               Query query = {}) {
  return {service, {method, std::move(path), std::move(query), body.is_null() ? "" : body.dump()}};
}

Json Labels(const std::string& ledger) { return {{kLedgerLabel, ledger}}; }

std::string What(const std::string& ledger) {
  return "stoker: looks after the jobs of the ledger " + ledger;
}

std::string SchedulePath(const RunNames& names) {
  return "v1/" + names.place + "/jobs/" + names.job;
}
std::string RunJobPath(const RunNames& names) { return "v2/" + names.place + "/jobs/" + names.job; }
std::string RepositoryPath(const RunNames& names) {
  return "v1/" + names.place + "/repositories/" + names.job;
}
std::string AccountPath(const RunNames& names, const std::string& email) {
  return "v1/" + names.project_path + "/serviceAccounts/" + email;
}
// "P" of "NAME@P.iam.gserviceaccount.com", so that an account that there is none of is answered
// with 404; "-" = the e-mail does not say, and an unknown one is answered with 403.
std::string ProjectOf(const std::string& email) {
  constexpr char kEnd[] = ".iam.gserviceaccount.com";
  const size_t at = email.find('@');
  if (at == std::string::npos || !EndsWith(email, kEnd)) return "-";
  const std::string project = email.substr(at + 1, email.size() - at - sizeof(kEnd));
  // "name.example.com" is the project "example.com:name".
  return IsSafeName(project) && project.find('.') == std::string::npos ? project : "-";
}
std::string RolePath(const RunNames& names, const std::string& id) {
  return "v1/" + names.project_path + "/roles/" + id;
}

Json RoleBody(const RunRole& role) {
  return {{"title", role.title},
          {"description", "of what looks after jobs while nobody is at a desk"},
          {"stage", "GA"},
          {"includedPermissions", role.permissions}};
}

Json ScheduleBody(const RunMaking& making) {
  const RunNames names = making.names();
  return {{"name", names.place + "/jobs/" + names.job},
          {"description", What(making.ledger)},
          {"schedule", fmt::format("*/{} * * * *", kRunEveryMinutes)},
          {"timeZone", "Etc/UTC"},
          {"httpTarget",
           {{"uri", making.run_base + "/" + RunJobPath(names) + ":run"},
            {"httpMethod", "POST"},
            {"headers", {{"Content-Type", "application/json"}}},
            {"body", Base64("{}")},
            {"oauthToken", {{"serviceAccountEmail", names.email}, {"scope", kCloudScope}}}}}};
}

}  // namespace

RunNames::RunNames(const std::string& ledger, const std::string& project, const std::string& region)
    : account("stoker-away-" + ledger),
      email(account + "@" + project + ".iam.gserviceaccount.com"),
      role("stokerAway_" + ledger),
      store_role("stokerAwayStore_" + ledger),
      job(account),
      project_path("projects/" + project),
      place(project_path + "/locations/" + region) {}

ServiceCall MakeAccount(const RunMaking& making) {
  const RunNames names = making.names();
  return Of(
      kIam, "POST", "v1/" + names.project_path + "/serviceAccounts",
      {{"accountId", names.account},
       {"serviceAccount", {{"displayName", "stoker away"}, {"description", What(making.ledger)}}}});
}

ServiceCall GetRole(const RunNames& names, const std::string& id) {
  return Of(kIam, "GET", RolePath(names, id));
}

ServiceCall MakeRole(const RunNames& names, const RunRole& role) {
  return Of(kIam, "POST", "v1/" + names.project_path + "/roles",
            {{"roleId", role.id}, {"role", RoleBody(role)}});
}

ServiceCall UndeleteRole(const RunNames& names, const std::string& id) {
  return Of(kIam, "POST", RolePath(names, id) + ":undelete", Json::object());
}

ServiceCall ChangeRole(const RunNames& names, const RunRole& role) {
  return Of(kIam, "PATCH", RolePath(names, role.id), RoleBody(role),
            {{"updateMask", "title,description,stage,includedPermissions"}});
}

ServiceCall MakeRepository(const RunMaking& making) {
  const RunNames names = making.names();
  return Of(kArtifacts, "POST", "v1/" + names.place + "/repositories",
            {{"format", "DOCKER"},
             {"description", What(making.ledger)},
             {"labels", Labels(making.ledger)}},
            {{"repositoryId", names.job}});
}

ServiceCall GetRepository(const RunNames& names) {
  return Of(kArtifacts, "GET", RepositoryPath(names));
}

ServiceCall GetRunJob(const RunNames& names) { return Of(kRun, "GET", RunJobPath(names)); }

ServiceCall GetSchedulers(const RunNames& names) {
  return Of(kScheduler, "GET", "v1/" + names.place);
}

ServiceCall PutRunJob(const RunMaking& making) {
  const RunNames names = making.names();
  Json variables = Json::array();
  for (const auto& [name, value] : making.variables) {
    variables.push_back({{"name", name}, {"value", value}});
  }
  const Json container = {
      {"image", making.image},
      {"env", variables},
      {"resources", {{"limits", {{"cpu", "1"}, {"memory", fmt::format("{}Mi", kRunMegabytes)}}}}}};
  const Json task = {{"containers", {container}},
                     {"maxRetries", 0},
                     {"timeout", fmt::format("{}s", kCloudRunSeconds)},
                     {"serviceAccount", names.email},
                     {"executionEnvironment", "EXECUTION_ENVIRONMENT_GEN2"}};
  return Of(kRun, "PATCH", RunJobPath(names),
            {{"name", names.place + "/jobs/" + names.job},
             {"labels", Labels(making.ledger)},
             {"client", "stoker"},
             {"clientVersion", making.version},
             {"template", {{"taskCount", 1}, {"parallelism", 1}, {"template", task}}}},
            {{"allowMissing", "true"}});
}

ServiceCall MakeSchedule(const RunMaking& making) {
  return Of(kScheduler, "POST", "v1/" + making.names().place + "/jobs", ScheduleBody(making));
}

ServiceCall ChangeSchedule(const RunMaking& making) {
  return Of(kScheduler, "PATCH", SchedulePath(making.names()), ScheduleBody(making),
            {{"updateMask", "description,schedule,timeZone,httpTarget"}});
}

PolicyOf ProjectPolicy(const RunNames& names) {
  const std::string path = "v1/" + names.project_path;
  return {
      Of(kProjects, "POST", path + ":getIamPolicy", {{"options", {{"requestedPolicyVersion", 3}}}}),
      kProjects, path + ":setIamPolicy", 3};
}

PolicyOf AccountPolicy(const std::string& email) {
  const std::string path = "v1/projects/" + ProjectOf(email) + "/serviceAccounts/" + email;
  return {Of(kIam, "POST", path + ":getIamPolicy", Json::object(),
             {{"options.requestedPolicyVersion", "3"}}),
          kIam, path + ":setIamPolicy", 3};
}

PolicyOf JobPolicy(const RunNames& names) {
  const std::string path = RunJobPath(names);
  return {Of(kRun, "GET", path + ":getIamPolicy"), kRun, path + ":setIamPolicy", 1};
}

ServiceCall EndSchedule(const RunNames& names) {
  return Of(kScheduler, "DELETE", SchedulePath(names));
}
ServiceCall EndRepository(const RunNames& names) {
  return Of(kArtifacts, "DELETE", RepositoryPath(names));
}
ServiceCall EndJob(const RunNames& names) { return Of(kRun, "DELETE", RunJobPath(names)); }

std::vector<ServiceCall> ProjectEndings(const RunNames& names) {
  return {Of(kIam, "DELETE", AccountPath(names, names.email)),
          Of(kIam, "DELETE", RolePath(names, names.role)),
          Of(kIam, "DELETE", RolePath(names, names.store_role))};
}

std::vector<std::pair<std::string, ServiceCall>> RegionLookings(const RunNames& names) {
  return {{"the schedule " + names.job, Of(kScheduler, "GET", SchedulePath(names))},
          {"the job of Cloud Run " + names.job, GetRunJob(names)},
          {"the repository " + names.job, GetRepository(names)}};
}

std::vector<std::pair<std::string, ServiceCall>> ProjectLookings(const RunNames& names) {
  return {{"the account " + names.email, Of(kIam, "GET", AccountPath(names, names.email))},
          {"the role " + names.role, GetRole(names, names.role)},
          {"the role " + names.store_role, GetRole(names, names.store_role)}};
}

std::string RunMonth() {
  const double runs = 30.0 * 24 * 60 / kRunEveryMinutes;
  const double cpu = runs * kSecondsOfRun * kPerCpuSecond;
  const double memory = runs * kSecondsOfRun * kRunMegabytes / 1024 * kPerGibSecond;
  const double free = kFreeCpuSeconds * kPerCpuSecond;
  const double store = runs * (kPutsOfRun * kPerPut + kGetsOfRun * kPerGet);
  const double rest = kPerSchedule + kImageGb * kPerImageGb;
  return fmt::format(
      "about {:.2f} $ a month by the list prices of tier 1 in {}: {:.0f} runs, each billed for a "
      "minute, {:.2f} $ ({:.2f} $ less by Cloud Run's free allowance, if nothing else uses it), "
      "requests to the bucket {:.2f} $, schedule and image {:.2f} $. More where there are many "
      "jobs, and what machines cost that it asks for",
      cpu + memory + store + rest, kMonthOf, runs, cpu + memory, free, store, rest);
}

}  // namespace stoker::gce
