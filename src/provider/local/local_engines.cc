// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_engines.h"

#include "provider/local/local_state.h"
#include "sys/container/engine_notes.h"
#include "sys/container/engines.h"
#include "sys/container/images_left.h"

namespace stoker {

std::vector<std::string> SweepEngines(const std::string& state_dir, WallTime now, bool dry_run) {
  if (!EngineNotes(state_dir).HasAny() && !HasImageUses(state_dir)) return {};
  const std::vector<FoundEngine> engines = FindEngines();
  std::vector<std::string> out =
      SweepContainers(state_dir, engines, LocalState(state_dir).Instances(), dry_run);
  for (const std::string& image : SweepImages(state_dir, engines, now, dry_run)) {
    out.push_back(kImageLeft + image);
  }
  return out;
}

}  // namespace stoker
