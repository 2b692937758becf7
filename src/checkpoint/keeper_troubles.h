// SPDX-License-Identifier: Apache-2.0
// What a CheckpointKeeper says of what it cannot save.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "checkpoint/rule/checkpoint_plan.h"
#include "port/checkpoint_files.h"

namespace stoker {

// One thread, but for text().
class KeeperTroubles {
 public:
  // `say`: KeeperConfig::say. `quiet`: KeeperConfig::quiet.
  KeeperTroubles(std::function<void(const std::string& line)> say, Duration quiet)
      : say_(std::move(say)), quiet_(quiet) {}

  // What does not work at present; "" = it works again.
  void Set(const std::string& what);
  // A checkpoint could not be brought into the store, and is tried again.
  void NotSavedYet(const Status& status);
  // What can be in no checkpoint is said when it comes, and stays the node's trouble while it is
  // there.
  void LeavesOut(const DirectoryScan& scan);
  // In the log alone.
  void Note(const std::string& what) const {
    if (say_) say_(what);
  }
  // Once, of what does not change in this attempt.
  void Stays(const std::string& what);
  // All that is there is in the store.
  void Saved(MonoTime now);
  // At each look. True: there has been something new for so long that it should be told why it is
  // not saved.
  bool Waits(bool something_new, MonoTime now);
  void Tell(const CheckpointPlan::Obstacle& why, MonoTime now);

  // What Set has said, or NotSavedYet.
  std::string now() const;
  // What does not work at present, in words; "" = nothing. Any thread.
  std::string text() const;

 private:
  Duration Patience() const;

  const std::function<void(const std::string& line)> say_;
  const Duration quiet_;
  bool full_ = false;                  // what NotSavedYet has said is that the store is
  std::optional<MonoTime> behind_;     // since when something lies there that is not committed
  Duration slowest_;                   // from such a change to its commit
  std::set<std::string> told_;         // kinds of reasons, since the last commit
  std::vector<SkippedEntry> skipped_;  // of the last scan, as far as it was told

  mutable std::mutex mutex_;  // guards what follows
  std::string trouble_;
  std::string unsaved_;   // what Tell says now
  std::string left_out_;  // what LeavesOut says now
  std::string stays_;
};

}  // namespace stoker
