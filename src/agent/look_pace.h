// SPDX-License-Identifier: Apache-2.0
// How often who looks after a job looks at it, and at how much of it. Pure.
//
// A whole look is a pass: record, reports, machines. On a bucket its listing is what costs, a dozen
// times as much as a get; and a cloud has only so many answers a second for a whole account. While
// nothing happens a glance at the record is enough, since whatever a node must hear of from outside
// (a cancel, a peer's failure, a new attempt) comes to it in there.
//
// What no record tells is that a node has fallen silent or that its machine is gone. The first two
// of the nodes at work are the lookouts for that, and make whole looks in turn. The others heed
// the reports of these two and, once something is wrong with one of them, look for themselves who
// the lookouts are now. Each heeds lower ranks than its own, so whatever each of them has seen, the
// first two at work have nobody to leave the looks to. So it is, too, where nodes wait for a
// machine that does not come: that may take days.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "job/job.h"
#include "port/object_store.h"
#include "reconcile/reconcile.h"

namespace stoker {

// True when what a whole look saw leaves nothing to wait for: one attempt, whose nodes train, or
// have completed while others train; no notice, no end, no machine and no launch beside it. Or the
// job has failed, and its machines are kept. How old the reports are is not asked here.
bool IsUndisturbed(const Job& job, const std::vector<ReportSeen>& reports,
                   const std::vector<MachineSeen>& machines);

// Not thread-safe. The times are one observer's.
class LookPace {
 public:
  // Of the node of `launch`; 0 = of who leaves no look to any node, as a command that is attached.
  explicit LookPace(const StoreTraits& traits, int launch = 0) : traits_(traits), launch_(launch) {}

  // Whether what is due at `now` is a whole look; else a glance will do.
  bool Whole(MonoTime now) const;
  // A whole look that began at `begun`, by the store's clock `store_now`, showed this. `changed`:
  // it wrote the record. Nodes that are not told `store_now` may look at the same time.
  void Looked(MonoTime begun, const Job& job, const std::vector<ReportSeen>& reports,
              const std::vector<MachineSeen>& machines, bool changed,
              std::optional<WallTime> store_now = {});
  // Something happened, or a look failed: the next look is a whole one.
  void Disturb() { undisturbed_ = false; }

  // A report's place.
  struct Slot {
    int attempt = 0;
    int rank = 0;
  };
  // Whose reports are to be read beside the glance at `now`; mostly nobody's.
  std::vector<Slot> Heeds(MonoTime now) const;
  // What was read there. Unset: nothing that can be read is there.
  void OnReport(MonoTime now, const Slot& slot, const std::optional<NodeReport>& report);

  // From `now` to the next look, unless something happens before.
  Duration Pause(MonoTime now) const;

 private:
  // One of those that look, as last heard of.
  struct Lookout {
    Slot slot;
    int launch = 0;
    NodePhase phase = NodePhase::kRunning;
    int64_t seq = 0;
    std::string incarnation;
    MonoTime since;  // when it was first heard of like that, or looked at last
  };
  // Those who share the looks take turns.
  struct Turn {
    int index = 0;
    int of = 1;
  };

  bool IsLate(const ReportSeen& seen) const;
  void ShareLooks(MonoTime begun, const Job& job, const std::vector<ReportSeen>& reports,
                  std::optional<WallTime> store_now);
  Turn TurnOfKept(const Job& job) const;
  MonoTime Next(MonoTime begun, const Turn& turn, const Job& job,
                std::optional<WallTime> store_now) const;

  StoreTraits traits_;
  int launch_;
  bool undisturbed_ = false;
  bool alone_ = false;            // a job of one node
  std::optional<MonoTime> next_;  // the next whole look, while undisturbed; unset: others look
  std::vector<Lookout> heeded_;   // these
  MonoTime heard_;                // when they were last looked at or read
  std::string state_;             // what the last whole look saw, without counters
  std::string waits_;             // the nodes that wait, as that saw them; "" = none only waits
  MonoTime waits_since_;          // when that last changed
  MonoTime changed_at_;           // when that last became another one
};

}  // namespace stoker
