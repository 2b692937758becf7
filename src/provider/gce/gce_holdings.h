// SPDX-License-Identifier: Apache-2.0
// All VMs that carry the labels of a ledger, for whoever clears up.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/provider.h"

namespace stoker {

namespace gce {
class ComputeApi;
}

struct GceHolding {
  InstanceSeen seen;
  std::string project, zone;
  std::string type;    // "e2-standard-2"
  std::string market;  // "spot", "on-demand"
  // Named as its request would name it. Else somebody made it "like that one", labels and all, and
  // it is nobody's to end but theirs.
  bool own = false;
  bool policy = false;  // not a VM, but a compact placement policy: `seen` has its name and job
  bool in_use = false;  // of a policy: a VM of the ledger has it
};

struct GceHoldings {
  std::vector<GceHolding> machines;  // but for what is gone; and placement policies
  std::vector<Unheard> unheard;      // what is there is not known
  std::vector<Status> denied;        // lists of policies, which older roles have no right to
  WallTime now;                      // by Google's clock
};

// In all zones of the projects that `places` names ("my-project.us-central1-a"). An error where no
// project answers.
Result<GceHoldings> ListGceHoldings(gce::ComputeApi& api, const std::vector<std::string>& places,
                                    const std::string& ledger_id);
// Ends a policy that no VM has. Ok also when there is none; kBusy: a VM has it after all.
Status EndGcePolicy(gce::ComputeApi& api, const GceHolding& policy);
// May anybody end it, since its own label says that its time is past by Google's clock?
bool IsExpired(const GceHolding& holding, WallTime now);

}  // namespace stoker
