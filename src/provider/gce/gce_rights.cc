// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_rights.h"

#include <iterator>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "provider/gce/gce_resolve.h"

namespace stoker {
namespace {

// Launch, look, renew, start, end.
constexpr const char* kBoth[] = {"compute.disks.create",
                                 "compute.disks.setLabels",
                                 "compute.images.useReadOnly",
                                 "compute.instances.create",
                                 "compute.instances.delete",
                                 "compute.instances.get",
                                 "compute.instances.getGuestAttributes",
                                 "compute.instances.list",
                                 "compute.instances.setLabels",
                                 "compute.instances.setMetadata",
                                 "compute.instances.setServiceAccount",
                                 "compute.instances.start",
                                 "compute.regionOperations.get",
                                 "compute.resourcePolicies.create",
                                 "compute.resourcePolicies.delete",
                                 "compute.resourcePolicies.list",
                                 "compute.resourcePolicies.use",
                                 "compute.subnetworks.use",
                                 "compute.subnetworks.useExternalIp",
                                 "compute.zoneOperations.get",
                                 "compute.zoneOperations.list"};
// Resolving what a job asks, and what 'doctor' looks at.
constexpr const char* kSubmitter[] = {
    "compute.acceleratorTypes.list", "compute.firewalls.list", "compute.images.get",
    "compute.images.getFromFamily", "compute.images.list", "compute.machineTypes.list",
    "compute.networks.get", "compute.projects.get", "compute.regions.get", "compute.regions.list",
    "compute.subnetworks.get",
    // On the project itself, so that no condition on the names of secrets fits them.
    "secretmanager.secrets.create", "secretmanager.secrets.list"};

// Values of the submitter, which lie there for the life of a job: put, and not read, by whoever
// submits. Bound to stoker's names alone, since a project has secrets of others too.
constexpr const char* kSubmitterSecrets[] = {"secretmanager.secrets.delete",
                                             "secretmanager.versions.add"};
constexpr const char* kNodeSecrets[] = {"secretmanager.secrets.delete",
                                        "secretmanager.versions.access"};
// As GoogleSecrets::PlaceOf names them. Source: "Resource attributes" (IAM): of a version, too, the
// name has the secret's.
constexpr char kOnlyOurs[] =
    R"( --condition='expression=resource.name.extract("secrets/{name}").startsWith("stoker-"))"
    ",title=stoker'";

// Of a job that asks for lines in Cloud Logging. No condition knows names of logs.
constexpr const char* kNodeLogs[] = {"logging.logEntries.create"};

// Of what looks after jobs while nobody is at a desk: 'stoker controller --install gcp' makes its
// roles itself. Who types that may set the policy of the project, and with it give rights to
// anybody. Source: "IAM permissions" of Cloud Run, Cloud Scheduler, Artifact Registry, IAM.
constexpr const char* kInstaller[] = {"artifactregistry.repositories.create",
                                      "artifactregistry.repositories.delete",
                                      "artifactregistry.repositories.downloadArtifacts",
                                      "artifactregistry.repositories.get",
                                      "artifactregistry.repositories.uploadArtifacts",
                                      "cloudscheduler.jobs.create",
                                      "cloudscheduler.jobs.delete",
                                      "cloudscheduler.jobs.get",
                                      "cloudscheduler.jobs.update",
                                      "cloudscheduler.locations.get",
                                      "compute.regions.get",
                                      "compute.regions.list",
                                      "iam.roles.create",
                                      "iam.roles.delete",
                                      "iam.roles.get",
                                      "iam.roles.undelete",
                                      "iam.roles.update",
                                      "iam.serviceAccounts.actAs",
                                      "iam.serviceAccounts.create",
                                      "iam.serviceAccounts.delete",
                                      "iam.serviceAccounts.get",
                                      "iam.serviceAccounts.getIamPolicy",
                                      "iam.serviceAccounts.setIamPolicy",
                                      "resourcemanager.projects.getIamPolicy",
                                      "resourcemanager.projects.setIamPolicy",
                                      "run.jobs.create",
                                      "run.jobs.delete",
                                      "run.jobs.get",
                                      "run.jobs.getIamPolicy",
                                      "run.jobs.setIamPolicy",
                                      "run.jobs.update",
                                      "run.operations.get"};

// On the one account that VMs run as: iam.serviceAccounts.actAs, and to see the account.
constexpr char kActs[] = "roles/iam.serviceAccountUser";

// On the registries of images; a role of Google's own.
constexpr char kReadsImages[] = "roles/artifactregistry.reader";

using Permissions = std::vector<std::string>;

Permissions Both() { return {std::begin(kBoth), std::end(kBoth)}; }

Permissions OfSubmitter() {
  Permissions out = Both();
  out.insert(out.end(), std::begin(kSubmitter), std::end(kSubmitter));
  return out;
}

Permissions OfNodeSecrets() { return {std::begin(kNodeSecrets), std::end(kNodeSecrets)}; }

std::string Role(const char* title, const Permissions& permissions) {
  return nlohmann::ordered_json(
             {{"title", title}, {"stage", "GA"}, {"includedPermissions", permissions}})
      .dump(2);
}

}  // namespace

std::vector<std::string> GceAwayPermissions() {
  Permissions out = Both();
  out.emplace_back("secretmanager.secrets.delete");
  out.emplace_back("secretmanager.secrets.list");
  return out;
}

Result<Rights> AddGceRights(Rights rights, const std::string& store, const std::string& project,
                            const std::string& account) {
  if (!StartsWith(store, "gs://")) {
    return Status(Code::kInvalid, "machines of Google need a store in a bucket of Google",
                  "Set the store first: stoker config set store gs://bucket/prefix");
  }
  const std::string there = project.empty() ? "PROJECT" : project;
  const std::string email = account.empty() ? UsualServiceAccount(there) : account;
  for (const RightsFile& file :
       {RightsFile{kSubmitterFile, "whoever submits and looks, on the project",
                   Role("stoker submitter", OfSubmitter())},
        RightsFile{gce::kSubmitterSecretsFile,
                   "whoever submits and looks, on stoker's secrets alone",
                   Role("stoker submitter of secrets",
                        {std::begin(kSubmitterSecrets), std::end(kSubmitterSecrets)})},
        RightsFile{kNodeFile, "machines that run jobs, on the project",
                   Role("stoker node", Both())},
        RightsFile{gce::kNodeSecretsFile, "machines that run jobs, on stoker's secrets alone",
                   Role("stoker node of secrets", OfNodeSecrets())},
        RightsFile{gce::kNodeLogsFile,
                   "machines that run jobs with 'logs: {cloud: true}', on the project",
                   Role("stoker node of logs", {std::begin(kNodeLogs), std::end(kNodeLogs)})},
        RightsFile{gce::kAwayFile,
                   "what 'stoker controller --install gcp' makes, which binds it to names, zones "
                   "and the bucket; to be read, not to be bound",
                   Role("stoker away", GceAwayPermissions())},
        RightsFile{gce::kInstallerFile,
                   "whoever types 'stoker controller --install gcp', besides, on the project",
                   Role("stoker installer", {std::begin(kInstaller), std::end(kInstaller)})}}) {
    rights.files.push_back(file);
  }
  const std::string roles = "projects/" + there + "/roles/";
  const std::string from = " --project=" + there + " --file=" + kRightsFolder + "/";
  const std::string nodes = " --member=serviceAccount:" + email;
  const std::string project_binds = "gcloud projects add-iam-policy-binding " + there;
  const std::string account_binds = "gcloud iam service-accounts add-iam-policy-binding " + email +
                                    " --project=" + there + " --role=" + kActs;
  // The usual account is made; another one is there already.
  if (account.empty()) {
    rights.commands.push_back("gcloud iam service-accounts create stoker --project=" + there);
  }
  for (const std::string& command :
       {std::string("gcloud iam roles create stokerSubmitter") + from + kSubmitterFile,
        std::string("gcloud iam roles create stokerSubmitterSecrets") + from +
            gce::kSubmitterSecretsFile,
        std::string("gcloud iam roles create stokerNode") + from + kNodeFile,
        std::string("gcloud iam roles create stokerNodeSecrets") + from + gce::kNodeSecretsFile,
        project_binds + nodes + " --role=" + roles + "stokerNode --condition=None",
        project_binds + nodes + " --role=" + roles + "stokerNodeSecrets" + kOnlyOurs,
        project_binds + " --member=user:NAME --role=" + roles + "stokerSubmitter --condition=None",
        project_binds + " --member=user:NAME --role=" + roles + "stokerSubmitterSecrets" +
            kOnlyOurs,
        "gcloud storage buckets add-iam-policy-binding " + store.substr(0, store.find('/', 5)) +
            nodes + " --role=" + roles + "stokerBucketNode",
        account_binds + nodes, account_binds + " --member=user:NAME",
        std::string("gcloud iam roles create stokerNodeLogs") + from + gce::kNodeLogsFile,
        project_binds + nodes + " --role=" + roles + "stokerNodeLogs --condition=None",
        project_binds + nodes + " --role=" + kReadsImages + " --condition=None"}) {
    rights.commands.push_back(command);
  }
  rights.Fill("PROJECT", there);
  rights.how +=
      std::string("Leave ") + gce::kNodeLogsFile + " out where no job has 'logs: {cloud: true}'.\n";
  rights.how += std::string("Leave ") + kReadsImages +
                " out where no job's image is of Artifact Registry; bind it on the project of the "
                "images where that is another.\n";
  rights.how += std::string("An owner of the project may what ") + gce::kInstallerFile +
                " has; whoever else gets it can give rights to anybody.\n";
  rights.how += "Leave compute.subnetworks.useExternalIp out where gcp.external_ip is false.\n";
  return rights;
}

}  // namespace stoker
