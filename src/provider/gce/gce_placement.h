// SPDX-License-Identifier: Apache-2.0
// Compact placement policies: one for the VMs of a job in one zone, made before the first of them.
// It outlives them, since others of the job may be asked for at any time, and costs nothing:
// whoever clears up ends it, once the job is over. Inside provider/gce, and for whoever clears up.
// Source: "Placement policies overview", "Use compact placement policies" (Compute Engine
// documentation); "resourcePolicies" (v1 API).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/refusal.h"
#include "port/provider.h"
#include "provider/gce/gce_answer.h"

namespace stoker::gce {

class ComputeApi;

inline constexpr char kCluster[] = "cluster";

// Such policies have no labels: their description says whose they are, and their names follow from
// that.
struct Policy {
  std::string name;
  std::string ledger_id, job, zone;
};

Policy PolicyOf(const LaunchRequest& request);
// The body of resourcePolicies.insert.
std::string PolicyBody(const Policy& policy);
// Unset: a policy that stoker has not made, or not in that region, whatever its name.
std::optional<Policy> OwnPolicy(const std::string& region, const std::string& name,
                                const std::string& description);
// "us-central1" of "us-central1-a"
std::string RegionOf(const std::string& zone);
// "projects/p/regions/r/resourcePolicies"
std::string PoliciesPath(const std::string& project, const std::string& region);

// False for a type of a family that is known to take no compact policy; of others Google is asked.
bool TakesPlacement(const std::string& type);

// Makes the policy of that request, or finds it there. Unset: it is there, as far as anybody knows.
// Errors: nobody answered.
Result<std::optional<Refusal>> MakePolicy(ComputeApi& api, const LaunchRequest& request);
// Ok also when there is none. kBusy: a VM has it.
Status DeletePolicy(ComputeApi& api, const std::string& project, const std::string& region,
                    const std::string& name);
// Those of a ledger in that region.
Result<std::vector<Policy>> ListPolicies(ComputeApi& api, const std::string& project,
                                         const std::string& region, const std::string& ledger_id);

}  // namespace stoker::gce
