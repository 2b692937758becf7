// SPDX-License-Identifier: Apache-2.0
// Keeps one node's checkpoints of one attempt in the store. Owned by the agent. Its halves:
// checkpoint/capture.h sees and copies, checkpoint/commit.h brings what was copied into the store.
//
// The keeper itself starts no thread: Step decides and copies (short), RunUpload hashes and uploads
// (long). KeeperThreads (checkpoint/keeper_threads.h) runs both; the simulator calls them itself.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.h"
#include "checkpoint/capture.h"
#include "checkpoint/commit.h"
#include "checkpoint/keeper_troubles.h"
#include "port/checkpoint_files.h"
#include "port/clock.h"
#include "port/object_store.h"
#include "port/process_runner.h"

namespace stoker {

// At most one thread in Begin and Step, and one in RunUpload. Everything given must outlive it.
class CheckpointKeeper {
 public:
  CheckpointKeeper(KeeperConfig config, ObjectStore& store, Clock& clock, CheckpointFiles& files);
  ~CheckpointKeeper();
  CheckpointKeeper(const CheckpointKeeper&) = delete;
  CheckpointKeeper& operator=(const CheckpointKeeper&) = delete;

  // After restore and before the program starts: what lies there is what was restored.
  Status Begin();
  // One pass: reads hints, looks, copies and commits what is due. Never fails: see trouble().
  void Step();
  // When Step should be called again at the latest; earlier when CheckpointFiles::Wait returns.
  MonoTime NextStep() const { return next_step_; }
  // Hashes and uploads one moment, for as long as that takes; false: there was none.
  bool RunUpload();
  bool UploadWaiting() const;

  // A notice came, or the program is about to be signalled: old checkpoints are cleared away only
  // when twice as many are there as are kept, and at a clean end; else by the next attempt. Any
  // thread.
  void Hurry();
  // The program's main process ended. Best called before Task::End, so that it sees what is still
  // being written. `signalled`: stoker had told it to end. Any thread; counts from the next Step.
  void ProgramEnded(const TaskExit& exit, bool signalled);
  // After ProgramEnded: everything that can be committed has been. Any thread.
  bool Finished() const;

  // Id of the newest checkpoint that this node knows to be committed in this attempt, else what was
  // restored, else "". Any thread.
  std::string newest() const;
  // Committed in this attempt, as far as this node knows. Any thread.
  int64_t commits() const;
  // As of the last Step: whether the program has written here in this attempt, and whether any of
  // it is in no moment that was taken. Any thread.
  struct Written {
    bool any = false;
    bool unkept = false;
    MonoTime last;                         // when something was changed, but for logs
    std::optional<Duration> longest_save;  // that was taken in this attempt
  };
  Written written() const;
  // How long the newest commit of this attempt took; unset: there was none. Any thread.
  std::optional<Duration> upload_took() const { return commit_.upload_took(); }
  // What does not work at present, in words; "" = nothing. Any thread.
  std::string trouble() const;

 private:
  CheckpointPlan::Obstacle WhyUnsaved(MonoTime now) const;

  Clock& clock_;
  CheckpointFiles& files_;
  const BeganFrom began_from_;
  KeeperTroubles troubles_;
  MomentCapture capture_;
  MomentCommit commit_;
  MonoTime next_step_;

  mutable std::mutex mutex_;
  Written written_;  // guarded by mutex_
};

}  // namespace stoker
