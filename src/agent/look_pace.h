// SPDX-License-Identifier: Apache-2.0
// How often who looks after a job looks at it, and at how much of it. Pure.
//
// A whole look is a pass: record, reports, machines. On a bucket its listing is what costs: a dozen
// times as much as a get. While nothing happens a glance at the record is enough, since whatever a
// node must hear of from outside (a cancel, a peer's failure, a new attempt) comes to it in there.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "job/job.h"
#include "port/object_store.h"
#include "reconcile/reconcile.h"

namespace stoker {

// True when what a whole look saw leaves nothing to wait for: one attempt, whose nodes train, or
// have completed while others train; no notice, no end, no machine and no launch beside it. Or the
// job has failed, and its machines are kept.
bool IsUndisturbed(const Job& job, const std::vector<ReportSeen>& reports,
                   const std::vector<MachineSeen>& machines);

// Not thread-safe. The times are one observer's.
class LookPace {
 public:
  explicit LookPace(const StoreTraits& traits) : traits_(traits) {}

  // Whether what is due at `now` is a whole look; else a glance will do.
  bool Whole(MonoTime now) const;
  // A whole look that began at `begun` showed this. `changed`: it wrote the record.
  void Looked(MonoTime begun, const Job& job, const std::vector<ReportSeen>& reports,
              const std::vector<MachineSeen>& machines, bool changed);
  // Something happened, or a look failed: the next look is a whole one.
  void Disturb() { undisturbed_ = false; }
  // From `now` to the next look, unless something happens before.
  Duration Pause(MonoTime now) const;

 private:
  Duration WholeEvery() const;

  StoreTraits traits_;
  bool undisturbed_ = false;
  bool alone_ = false;   // a job of one node
  MonoTime looked_;      // the last whole look
  std::string state_;    // what it saw, without counters
  MonoTime changed_at_;  // when that last became another one
};

}  // namespace stoker
