// SPDX-License-Identifier: Apache-2.0
#include "sim/bugs/bugs.h"

#include "sim/bugs/plans.h"

namespace stoker::sim {

const std::vector<Bug>& Bugs() {
  static const std::vector<Bug> bugs = {
      {"invented-token", "", {"intent-first"}, SmallPlan},
      {"request-never-expires", "", {"intent-first"}, SmallPlan},
      {"request-before-record", "", {"intent-first"}, SmallPlan},
      {"acts-after-lost-race", "", {"intent-first"}, SmallPlan},
      {"failed-describe-is-empty", "", {"no-fork"}, SmallPlan},
      {"own-clock", "", {"no-fork"}, SmallPlan},
      {"ends-on-failed-read", "", {"no-blind-kill"}, SmallPlan},
      {"silent-is-ended", "", {"no-blind-kill"}, SmallPlan},
      {"launch-off-by-one", "", {"no-blind-kill"}, SmallPlan},
      {"retires-unindexed", "", {"everything-ends"}, SmallPlan},
      {"unmarked-job", "", {"everything-ends"}, SmallPlan},
      {"finish-falls-through", "", {"everything-ends"}, SmallPlan},
      {"never-given-up", "", {"everything-ends"}, SmallPlan},
      {"restarts-uncounted", "", {"everything-ends"}, SmallPlan},
      {"never-kills", "", {"everything-ends"}, SmallPlan},
      {"stale-record", "", {"record-order"}, SmallPlan},
      {"blind-write", "", {"record-order"}, SmallPlan},
      {"stale-retry", "", {"done-is-done"}, SmallPlan},
      {"launch-rewritten", "", {"record-order"}, SmallPlan},
      {"ended-job-goes-on", "", {"done-is-done"}, SmallPlan},
      {"limit-in-wrong-unit", "", {"bounded-life"}, SmallPlan},
      {"claim-ignored", "", {"one-machine"}, SmallPlan},
      {"claim-overwritten", "", {"one-machine"}, SmallPlan},
      {"closed-is-gone", "", {"no-fork"}, SmallPlan},
      {"begins-while-draining", "", {"no-fork"}, SmallPlan},
      {"commits-after-given-up", "", {"no-fork"}, SmallPlan},
      {"suspect-restored", "", {"newest"}, SmallPlan},
      {"lower-attempt-restored", "", {"newest"}, SmallPlan},
      {"named-data-swept", "", {"newest"}, SmallPlan},
      {"hash-unchecked", "", {"whole-checkpoint"}, SmallPlan},
      {"named-before-uploaded", "", {"whole-checkpoint"}, SmallPlan},
      {"lost-answer-is-success", "", {"whole-checkpoint"}, SmallPlan},
      {"quiet-ignored", "", {"whole-checkpoint"}, SmallPlan},
      {"death-is-a-close", "", {"whole-checkpoint"}, SmallPlan},
      {"parts-unmatched", "", {"whole-checkpoint"}, SmallPlan},
      {"shipped-before-put", "", {"every-line"}, SmallPlan},
      {"ended-before-uploaded", "", {"every-line"}, SmallPlan},
      {"error-before-peers", "", {"right-result"}, SmallPlan},
      {"told-is-completed", "", {"right-result"}, SmallPlan},
      {"full-is-refused", "", {"right-result"}, SmallPlan},
      {"cancel-forgotten", "", {"right-result"}, SmallPlan},
  };
  return bugs;
}

}  // namespace stoker::sim
