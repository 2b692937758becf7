// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_rights.h"

#include "base/json.h"

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
                                 "iam.serviceAccounts.actAs"};
// Resolving what a job asks.
constexpr const char* kSubmitter[] = {
    "compute.acceleratorTypes.list", "compute.images.get",        "compute.images.getFromFamily",
    "compute.images.list",           "compute.machineTypes.list", "compute.networks.get",
    "compute.regions.get",           "compute.regions.list",      "compute.subnetworks.get"};

}  // namespace

Result<std::string> WithGceRights(const std::string& role, bool submitter) {
  auto out = nlohmann::ordered_json::parse(role, nullptr, false);
  const bool is_role = out.is_object() && out.contains("includedPermissions") &&
                       out["includedPermissions"].is_array();
  if (!is_role) return Status(Code::kInvalid, "not a role of Google's IAM");
  for (const char* each : kBoth) out["includedPermissions"].push_back(each);
  if (submitter) {
    for (const char* each : kSubmitter) out["includedPermissions"].push_back(each);
  }
  return out.dump(2);
}

Result<Rights> AddGceRights(Rights rights, const std::string& store) {
  if (!StartsWith(store, "gs://")) {
    return Status(Code::kInvalid, "machines of Google need a store in a bucket of Google",
                  "Set the store first: stoker config set store gs://bucket/prefix");
  }
  STOKER_ASSIGN(rights.submitter, WithGceRights(rights.submitter, true));
  STOKER_ASSIGN(rights.node, WithGceRights(rights.node, false));
  rights.how =
      "Make roles of them and bind them on the project; storage permissions alone may be bound on "
      "the bucket instead:\n"
      "  gcloud iam roles create stokerSubmitter --project=PROJECT --file=submitter.json\n"
      "  gcloud iam roles create stokerNode --project=PROJECT --file=node.json\n"
      "  gcloud projects add-iam-policy-binding PROJECT --member=user:NAME "
      "--role=projects/PROJECT/roles/stokerSubmitter\n"
      "  gcloud iam service-accounts create stoker --project=PROJECT\n"
      "  gcloud projects add-iam-policy-binding PROJECT "
      "--member=serviceAccount:stoker@PROJECT.iam.gserviceaccount.com "
      "--role=projects/PROJECT/roles/stokerNode\n"
      "Leave compute.subnetworks.useExternalIp out where gcp.external_ip is false.\n";
  return rights;
}

}  // namespace stoker
