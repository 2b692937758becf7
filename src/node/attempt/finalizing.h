// SPDX-License-Identifier: Apache-2.0
// The end of an attempt on its node: the last checkpoint, outputs, metrics and lines get into the
// store; what cannot be kept is said, and moved to where it stays when the machine goes.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "agent/supervisor.h"
#include "checkpoint/as_left.h"
#include "node/attempt/context.h"
#include "node/attempt/hooks.h"
#include "node/attempt/keepers.h"
#include "node/attempt/running.h"
#include "node/attempt/staging.h"
#include "node/outputs/unsaved.h"

namespace stoker::node {

// Used by one thread, but for SaveNoLonger, hurried and what the report says.
class Finalizing {
 public:
  // All must outlive it.
  Finalizing(AttemptContext& here, AttemptKeepers& keepers, Staging& staging, Running& running,
             Hooks& hooks)
      : here_(here), keepers_(keepers), staging_(staging), running_(running), hooks_(hooks) {}

  // A former agent of this machine had kept all that there was. Before Finalize.
  void AllIsSaved() { forerunners_kept_ = true; }
  // Returns when all is in the store, or at the deadline with what is not. May be repeated.
  Status Finalize(const FinalizeAttempt& action);
  // Instead of another Finalize: what is left is not kept, and said.
  void GiveUp();
  // Ends a Finalize that waits for the store; from then on it is time to give up.
  void SaveNoLonger() { hurried_ = true; }
  bool hurried() const { return hurried_; }

  // What was given up, besides outputs.
  std::vector<std::string> lost() const;
  void Complete(NodeReport& report) const;

 private:
  Status Sync(const FinalizeAttempt& action);
  void ForgetContainer(const std::optional<MonoTime>& deadline);
  Status LastCheckpoint(MonoTime deadline);
  void KeepWhatIsLeft(MonoTime deadline);
  std::string HowToUse(const AsLeftKept& kept, bool any_whole) const;
  Duration LeftNewer(const std::string& newest, MonoTime last) const;
  void KeepForerunners();
  void MoveUnsavedAway(bool checkpoints);
  void SayNow(const Status& trouble, bool taken);

  AttemptContext& here_;
  AttemptKeepers& keepers_;
  Staging& staging_;
  Running& running_;
  Hooks& hooks_;
  bool forerunners_kept_ = false;  // or nothing is left to do for them
  bool left_kept_ = false;         // or was tried
  std::string said_;               // of what does not work, last
  std::atomic<bool> hurried_{false};
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::string> lost_;
  Unsaved unsaved_;
  Duration left_newer_;  // NodeReport::left_newer_ms
};

}  // namespace stoker::node
