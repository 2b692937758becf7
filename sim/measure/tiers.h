// SPDX-License-Identifier: Apache-2.0
// Recovery tiers (docs/guarantees.md) one by one: what a job loses, and for how long, when nobody
// but one of them reconciles. Each plays the same seeds of the same stories.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/measure/long_job.h"
#include "sim/world/world.h"

namespace stoker::sim {

// Who is there. Everybody submits, and leaves after one pass unless `attached`.
struct TierCast {
  std::string name;
  std::string who;  // in words
  Tier nodes = Tier::kVerbs;
  bool attached = false;
  int64_t verb_every_ms = 0;   // somebody looks so often; 0 = never
  int64_t timer_every_ms = 0;  // `stoker controller --once`; 0 = there is none
  int64_t away_every_ms = 0;   // a function of the cloud; 0 = there is none
  int away_deaf = 0;           // so many events of a thousand it is not told
};

// What happens to the job, once.
struct TierStory {
  std::string name;
  std::vector<FaultPlan> faults;
  bool before_first_step = false;  // what it delays is the beginning
};

struct TierSetting {
  TierCast cast;
  TierStory story;
  LongJob job;  // of two hours: TierJob
  uint64_t seed = 1;
};

// From then on somebody who wonders looks each five minutes, whatever the cast: what was not done
// by then was not done without a hand.
constexpr int64_t kHandComes = 30LL * 3'600'000;

struct TierOutcome {
  bool trained = false;  // to the last step, before the hand came
  bool alone = false;    // ended in the record before the hand came, as it should
  bool right = false;    // ended as it should in the end
  // The longest time in which no node made a step, until the last step: from submission, if that is
  // what the story is about, else from the first step.
  int64_t stood_ms = 0;
  int64_t redone_ms = 0;  // steps done again, or begun and lost; of each node, in the mean
  // From the last step to the end in the record; -1 = that never came.
  int64_t unknown_ms = -1;
  // Over all machines, while they ran and no program did: boots, set-up and ends too.
  int64_t idle_ms = 0;
  // The longest that a machine ran on after the last step.
  int64_t left_ms = 0;
  int by_hand = 0;  // writes of the record by the hand
  std::optional<BreachFound> breach;
};

const std::vector<TierCast>& TierCasts();
const std::vector<TierStory>& TierStories();
LongJob TierJob(int nodes);
// All checkers watch. The same for the same setting everywhere.
TierOutcome PlayTier(const TierSetting& setting);

}  // namespace stoker::sim
