// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/attempt_run.h"

#include <utility>

namespace stoker::node {

AttemptRun::AttemptRun(AttemptParts parts, AttemptConfig config)
    : here(parts, std::move(config)),
      keepers(here),
      staging(here, keepers),
      hooks(here),
      running(here, keepers, hooks),
      finalizing(here, keepers, staging, running, hooks) {
  if (here.config.limiter == nullptr) return;
  const ResourcesSpec& asked = here.config.spec.resources;
  here.config.limiter->Ask({asked.memory.value_or(0), asked.cpus.value_or(0)});
}

UsageInput AttemptRun::Complete(NodeReport& report) {
  here.log.Complete(report);
  const UsageInput look = running.Complete(report);
  keepers.Complete(report);
  finalizing.Complete(report);
  for (const std::string& text :
       {keepers.Trouble(finalizing.lost(), running.ended()), running.left_behind()}) {
    if (!text.empty()) report.trouble += (report.trouble.empty() ? "" : "; ") + text;
  }
  return look;
}

}  // namespace stoker::node
