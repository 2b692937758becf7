// SPDX-License-Identifier: Apache-2.0
#include "client/tiers.h"

#include <set>

#include "client/away.h"
#include "client/submit/allocation.h"
#include "client/submit/offers.h"
#include "client/timer.h"
#include "spec/text/infra.h"
#include "sys/file.h"

namespace stoker::client {

namespace {

bool HasSeveralProviders(const JobSpec& spec) {
  std::set<std::string> providers;
  for (const ResourcesSpec& one : spec.choices) providers.insert(ParseInfra(one.infra).provider);
  return providers.size() > 1;
}

}  // namespace

std::string NoticeTier(const Job& job, const JobSpec* spec) {
  if (spec != nullptr && spec->on_stop == OnStop::kRestart) {
    return "none of its own for a machine that was stopped: it waits for one of the others here "
           "(on_stop: restart)";
  }
  const std::string starts = "a node with an interruption notice starts its own replacement";
  const auto tie = TieOf(job);
  if (!tie) return starts;
  return starts + "; none does when " + tie->of->Name(tie->job) +
         " ends, which it runs inside of: " +
         (tie->outlive ? "it goes on where somebody next looks (--outlive)"
                       : "the job is cancelled with it");
}

bool TimerInstalled(const Client& client) {
  return sys::FileExists(client.places().state + "/timer-installed");
}

std::vector<std::string> RecoveryTiers(Client& client, const Job& job, const JobSpec* spec) {
  if (IsFinal(job.state)) return {};
  std::vector<std::string> tiers = {
      "every stoker command that looks at it, and a 'stoker run' that stays with it"};
  if (spec != nullptr && AnyChoiceHas(*spec, &BrokerTraits::nodes_stay_alone)) {
    tiers.push_back(
        "its nodes, as far as their own boxes go: after a crash the program starts again where it "
        "ran. No box asks another one for a machine");
  } else if (spec == nullptr || spec->recovery == RecoveryMode::kNode) {
    tiers.push_back(job.num_nodes > 1 ? "every node of the job that is alive"
                                      : "its node, even after the agent on it has died");
    tiers.push_back(NoticeTier(job, spec));
  } else {
    tiers.push_back("no node: with 'recovery: controller' nodes may not start machines");
  }
  if (spec != nullptr && HasSeveralProviders(*spec)) {
    tiers.push_back(
        "a node asks for machines of its own provider alone; for another's, one of the others here "
        "does");
  }
  const std::vector<AwaySeen> away = SeeAway(client);
  for (const AwaySeen& seen : away) tiers.push_back(Told(seen));
  if (!away.empty() && !TimerInstalled(client)) return tiers;
  tiers.push_back(
      TimerInstalled(client) ? "a timer on this machine (stoker controller --install)"
      : TimerPossible()
          ? "no timer: after a machine dies without notice, the job waits for one of the "
            "above; 'stoker controller --install' installs one"
          : "no timer: after a machine dies without notice, the job waits for one of the "
            "above; a 'stoker controller' that you keep running is one more");
  return tiers;
}

RecoveryInShort TellRecoveryInShort(Client& client, const JobSpec& spec) {
  RecoveryInShort told;
  told.timer = TimerInstalled(client) ? "a timer looks after it, too" : "no timer";
  const std::vector<AwaySeen> away = SeeAway(client);
  if (!away.empty()) told.timer = Told(away.front()) + ", looks after it, too";
  if (spec.on_stop == OnStop::kRestart && spec.num_nodes == 1) {
    // Nothing of the job lives while its machine is off.
    told.unusual =
        "every stoker command: a machine that is stopped waits for one, and its disk is billed "
        "(once its lease of a day is over, 'stoker gc' or the controller deletes it)";
  } else if (AnyChoiceHas(spec, &BrokerTraits::nodes_stay_alone)) {
    told.unusual =
        "every stoker command, and its nodes on boxes that are up (a box that is down is "
        "replaced by a command or a timer here)";
  } else if (spec.recovery != RecoveryMode::kNode) {
    told.unusual = "every stoker command, and by no node of its own (recovery: controller)";
  }
  return told;
}

}  // namespace stoker::client
