// SPDX-License-Identifier: Apache-2.0
// The half of a CheckpointKeeper that sees and copies: when to look at the directory, what of it is
// a moment, and its copy. It knows no store; checkpoint/commit.h brings moments there.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/status.h"
#include "checkpoint/keeper_troubles.h"
#include "checkpoint/moment.h"
#include "checkpoint/rule/checkpoint_plan.h"
#include "checkpoint/rule/first_save.h"
#include "port/checkpoint_files.h"
#include "port/clock.h"

namespace stoker {

// Where nothing tells saves of several nodes apart, what has rested for so many times `quiet` on
// all of them at once is one.
inline constexpr int kRestQuiets = 10;

// One thread, but for ProgramEnded. Everything given must outlive it.
class MomentCapture {
 public:
  using Ended = CheckpointPlan::Ended;
  // Gets each moment as soon as it is copied.
  using Taken = std::function<void(std::shared_ptr<Moment>)>;
  MomentCapture(std::string job, PlanOptions options, Clock& clock, CheckpointFiles& files,
                KeeperTroubles& troubles, Taken taken);

  // ---- before the program starts ----
  Result<DirectoryScan> FirstLook();
  // `scan`, of the first look, is what was restored: `staged`.
  void Begin(const DirectoryScan& scan, StagedFiles staged, MonoTime now);
  // After Begin, where something was restored: whether the program goes on from it.
  void Expect(FirstSave first) { first_save_.emplace(std::move(first)); }

  // ---- in each step, in this order ----
  // Reads hints, and looks if a look is due.
  void Observe(MonoTime now);
  // Copies what is a moment now.
  void Capture(MonoTime now);
  // When it wants to be called again at the latest.
  MonoTime NextStep(MonoTime now) const;

  // A look of now, for who has waited for something else since Observe. False: it failed.
  bool Recheck(MonoTime now);

  // Any thread; counts from the next Observe.
  void ProgramEnded(Ended ended);

  // ---- what is known by the last look ----
  // Something changed that has not been taken, or the program asked for a commit.
  bool pending() const { return plan_.Pending(); }
  // The program itself has written here in this attempt.
  bool ever_written() const { return plan_.ever_written(); }
  // It is writing what may be the first that it writes here: there will be a moment.
  bool writes_first(MonoTime now) const {
    return !ever_written() && !end_.seen && pending() && now - plan_.last_change() < quiet_ * 10;
  }
  bool ended() const { return end_.seen; }
  MonoTime ended_at() const { return end_.at; }
  // After the end: no moment is to come any more.
  bool nothing_left() const { return nothing_left_; }
  // The files of the last moment taken, else of what was restored.
  const StagedFiles& staged() const { return base_; }
  // `moment` is of what lies there now, and has lain there for long, or will for good.
  bool StillForLong(const Moment& moment, MonoTime now) const;
  // The same without the time that follows a good end.
  bool HasRested(const Moment& moment, MonoTime now) const;
  bool ended_well() const { return plan_.ended_well(); }
  // Of the moments taken: the longest that was written at one go; unset: none was taken.
  std::optional<Duration> longest_save() const { return longest_save_; }
  MonoTime last_change() const { return plan_.last_change(); }
  // Why what is new is no moment, or could not be copied. Empty: nothing keeps it back.
  CheckpointPlan::Obstacle WhyNotTaken(MonoTime now) const;

  // ---- what became of moments ----
  // The last one is in the store: a mark that the program waits for goes.
  void IsStored();
  // The last one was of the files themselves, and they have changed: it has to be taken again, not
  // before `from`.
  void Forget(MonoTime from);
  // This attempt commits nothing more: after the end there is nothing to wait for.
  void NothingCounts() { nothing_left_ = nothing_left_ || end_.seen; }

 private:
  void Learn(const DirectoryScan& scan, MonoTime now);
  void JudgeFirst(const CopyOrder& order);
  void ReadPointers();
  bool Copy(CopyOrder order, MonoTime now);
  void TakeOutUnkept(CopyOrder* order);
  std::map<std::string, Proof> ProofsOf(const CopyOrder& order, Snapshot& copy) const;
  bool Dangles(const Candidate& candidate) const;
  void Count(const Candidate& candidate);
  void RemoveMark();

  const std::string job_;
  const PlanOptions options_;
  const Duration quiet_;
  Clock& clock_;
  CheckpointFiles& files_;
  KeeperTroubles& troubles_;
  const Taken taken_;
  std::optional<FirstSave> first_save_;  // until it is judged
  CheckpointPlan plan_;
  struct LastLook {
    MonoTime at;
    bool dirty = true;    // an event came after it
    bool closed = false;  // one of them ended a write
    Duration cost;
  } look_;
  struct ProgramEnd {
    std::optional<MonoTime> heard;
    bool seen = false;  // by a look that was made after it
    MonoTime at;
  } end_;
  bool nothing_left_ = false;
  bool again_ = false;  // there may be another moment at once
  MonoTime take_after_;
  Status take_failed_;      // the last try of a copy
  bool mark_owed_ = false;  // kDoneMark goes when the moment is in the store
  StagedFiles staged_;      // copies, of which some may not count yet
  StagedFiles logs_;        // the newest copies of what grows for ever
  StagedFiles base_;        // of the last moment
  int64_t taken_cycle_ = 0;
  std::optional<Duration> longest_save_;

  mutable std::mutex mutex_;
  std::optional<Ended> ended_;  // guarded by mutex_
};

}  // namespace stoker
