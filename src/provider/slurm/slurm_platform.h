// SPDX-License-Identifier: Apache-2.0
// A node of a Slurm job, seen from its agent.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "port/clock.h"
#include "port/node_platform.h"
#include "provider/slurm/slurm_folder.h"

namespace stoker {

// In the environment of an agent on such a node: the request's folder (slurm_folder.h).
inline constexpr char kSlurmFolder[] = "STOKER_SLURM_FOLDER";

class SlurmPlatform : public NodePlatform {
 public:
  using NodePlatform::NodePlatform;
  // Who sent Slurm's SIGTERM, which all that runs here has got, the program included; nullopt: none
  // came, or Slurm does not say. Asks Slurm, which may tell of a scancel later than the signal
  // comes, and keeps the answer in the request's folder, so that whoever looks after this returns
  // sees it. Blocks: 10 seconds from the signal at most, and no longer than it leaves. `over`: the
  // program has ended, and whoever hears of that may ask for a successor: then for as long as Slurm
  // gives no answer at all, since without one nothing can be asked of it. Returns at once when
  // `stop` says so.
  virtual std::optional<SlurmEnd> AwaitEnder(bool over, const std::function<bool()>& stop) = 0;
};

// For the agent of this machine; null: it is no node of a Slurm job. `dir`, errors: as below.
Result<std::unique_ptr<NodePlatform>> FindSlurmPlatform(const std::string& dir, Clock& clock);

// `dir`: the node's own folder. Who it is, is in the environment that slurm_node.h sets. kInvalid:
// it is not such a node.
Result<std::unique_ptr<SlurmPlatform>> MakeSlurmPlatform(const std::string& dir, Clock& clock);

// A variable of this process; "" = not set.
std::string SlurmVariable(const char* name);

// How long before the end of an allocation of `limit` its job is told; `asked`: by the user, or 0.
Duration SlurmLead(Duration limit, Duration asked);

}  // namespace stoker
