// SPDX-License-Identifier: Apache-2.0
// What `stoker doctor --infra gcp/…` finds out of the rights that `--iam` prints: Google says at
// once which permissions whoever asks has, and of nobody else's. A file of rights that is neither
// asked about nor named fails gce_trials_test.cc. Sources: "projects.testIamPermissions" (Resource
// Manager v1), "projects.serviceAccounts.testIamPermissions" (IAM v1).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "port/broker.h"
#include "port/rights.h"
#include "provider/gce/compute_api.h"

namespace stoker {

// As MakeServiceApi.
using MakeGoogleApi =
    std::function<Result<std::shared_ptr<gce::ComputeApi>>(const std::string& service)>;

// `rights` as AddGceRights has them of the project; `account`: e-mail of the machines; `addresses`:
// they get such of the internet. Changes nothing. Blocks for a moment.
std::vector<Finding> TellGceRights(const MakeGoogleApi& make, const std::string& project,
                                   const std::string& account, bool addresses, Rights rights);

namespace gce {

// ---- pure, for tests ----
// "" = that file of the rights is looked at by nobody; else how: "asked", "not tried".
std::string HowLookedAt(const std::string& file);

// includedPermissions of a role's file.
std::vector<std::string> PermissionsIn(const std::string& role);

// Of those asked the ones that an answer of testIamPermissions lacks, in their order.
std::vector<std::string> LackingIn(const std::string& json, const std::vector<std::string>& asked);

}  // namespace gce
}  // namespace stoker
