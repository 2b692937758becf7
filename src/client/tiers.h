// SPDX-License-Identifier: Apache-2.0
// Who would bring a job back, as of now: the recovery tiers of docs/architecture.md.
#pragma once

#include <string>
#include <vector>

#include "client/open/client.h"
#include "job/job.h"
#include "spec/job_spec.h"

namespace stoker::client {

// One sentence a tier, the missing ones with the way to get them. `spec` may be null.
std::vector<std::string> RecoveryTiers(Client& client, const Job& job, const JobSpec* spec);

// Of those, what becomes of a node that has a notice, where nodes may start machines.
std::string NoticeTier(const Job& job, const JobSpec* spec);

// The same for the moment of submission.
struct RecoveryInShort {
  std::string timer;    // "no timer"
  std::string unusual;  // who looks after it besides a timer, where that is not as usual; else ""
};
RecoveryInShort TellRecoveryInShort(Client& client, const JobSpec& spec);

// True when the timer of `stoker controller --install` is set up for this user on this machine.
bool TimerInstalled(const Client& client);

}  // namespace stoker::client
