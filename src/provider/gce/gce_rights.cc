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

}  // namespace stoker
