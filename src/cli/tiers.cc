// SPDX-License-Identifier: Apache-2.0
#include "cli/tiers.h"

#include "cli/timer.h"
#include "sys/file.h"

namespace stoker::cli {

bool TimerInstalled(const Context& context) {
  return sys::FileExists(context.places().state + "/timer-installed");
}

std::vector<std::string> RecoveryTiers(Context& context, const Job& job, const JobSpec* spec) {
  if (IsFinal(job.state)) return {};
  std::vector<std::string> tiers = {
      "every stoker verb that looks at it, and an attached command line"};
  if (spec == nullptr || spec->recovery == RecoveryMode::kNode) {
    tiers.push_back(job.num_nodes > 1 ? "every live node of the job"
                                      : "its node, also after its agent died");
    tiers.push_back("a node that gets an interruption notice launches its successor");
  } else {
    tiers.push_back("no node: 'recovery: controller' gives nodes no right to launch");
  }
  tiers.push_back(TimerInstalled(context) ? "a timer on this machine (stoker controller --install)"
                  : TimerPossible()
                      ? "no timer: a machine that dies without notice waits for one of the above; "
                        "'stoker controller --install' closes this gap"
                      : "no timer: a machine that dies without notice waits for one of the above; "
                        "a 'stoker controller' that you keep running closes this gap");
  return tiers;
}

std::string RecoveryInShort(const Context& context, const JobSpec& spec) {
  const bool nodes = spec.recovery == RecoveryMode::kNode;
  const bool timer = TimerInstalled(context);
  std::string text = nodes ? "its own nodes, any stoker verb" : "any stoker verb";
  if (timer) return text + ", a timer";
  return text + (TimerPossible() ? "; no timer ('stoker controller --install')"
                                 : "; no timer (a 'stoker controller' kept running is one)");
}

}  // namespace stoker::cli
