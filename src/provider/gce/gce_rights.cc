// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_rights.h"

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
                                 "compute.zoneOperations.list",
                                 "secretmanager.secrets.delete"};
// Resolving what a job asks, and what 'doctor' looks at.
constexpr const char* kSubmitter[] = {
    "compute.acceleratorTypes.list", "compute.firewalls.list", "compute.images.get",
    "compute.images.getFromFamily", "compute.images.list", "compute.machineTypes.list",
    "compute.networks.get", "compute.projects.get", "compute.regions.get", "compute.regions.list",
    "compute.subnetworks.get",
    // Values of the submitter, which lie there for the life of a job. Only put, and not read.
    "secretmanager.secrets.create", "secretmanager.secrets.list", "secretmanager.versions.add"};
constexpr const char* kNode[] = {"secretmanager.versions.access"};

// On the one account that VMs run as: iam.serviceAccounts.actAs, and to see the account.
constexpr char kActs[] = "roles/iam.serviceAccountUser";

std::string Role(const char* title, bool submitter) {
  nlohmann::ordered_json out = {{"title", title}, {"stage", "GA"}};
  for (const char* each : kBoth) out["includedPermissions"].push_back(each);
  if (submitter) {
    for (const char* each : kSubmitter) out["includedPermissions"].push_back(each);
  } else {
    for (const char* each : kNode) out["includedPermissions"].push_back(each);
  }
  return out.dump(2);
}

}  // namespace

Result<Rights> AddGceRights(Rights rights, const std::string& store, const std::string& project,
                            const std::string& account) {
  if (!StartsWith(store, "gs://")) {
    return Status(Code::kInvalid, "machines of Google need a store in a bucket of Google",
                  "Set the store first: stoker config set store gs://bucket/prefix");
  }
  const std::string there = project.empty() ? "PROJECT" : project;
  const std::string email = account.empty() ? UsualServiceAccount(there) : account;
  rights.files.push_back({kSubmitterFile, "whoever submits and looks, on the project",
                          Role("stoker submitter", true)});
  rights.files.push_back(
      {kNodeFile, "machines that run jobs, on the project", Role("stoker node", false)});
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
        std::string("gcloud iam roles create stokerNode") + from + kNodeFile,
        project_binds + nodes + " --role=" + roles + "stokerNode --condition=None",
        project_binds + " --member=user:NAME --role=" + roles + "stokerSubmitter --condition=None",
        "gcloud storage buckets add-iam-policy-binding " + store.substr(0, store.find('/', 5)) +
            nodes + " --role=" + roles + "stokerBucketNode",
        account_binds + nodes, account_binds + " --member=user:NAME"}) {
    rights.commands.push_back(command);
  }
  rights.Fill("PROJECT", there);
  rights.how += "Leave compute.subnetworks.useExternalIp out where gcp.external_ip is false.\n";
  return rights;
}

}  // namespace stoker
