// SPDX-License-Identifier: Apache-2.0
// The program of an attempt from its start to its end: watched, asked for saves, ended; and what
// the log says to it of a notice, a move or advice.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "agent/supervisor.h"
#include "node/attempt/context.h"
#include "node/attempt/hooks.h"
#include "node/attempt/keepers.h"
#include "node/attempt/program.h"
#include "node/env/kept/env_keeper.h"
#include "node/ran/ran_teller.h"
#include "policy/drain.h"
#include "port/node_platform.h"
#include "port/process_runner.h"

namespace stoker::node {

// When and where a program's use was read.
struct UsageInput {
  std::optional<MonoTime> read;  // its CPU time; unset: it has none yet
  std::string work;              // its work directory; "" = not known
};

// Any thread, but for Start, Terminate (the main thread) and Join.
class Running {
 public:
  // All must outlive it.
  Running(AttemptContext& here, AttemptKeepers& keepers, Hooks& hooks)
      : here_(here), keepers_(keepers), hooks_(hooks) {}
  ~Running();  // ends the program

  // Once. `ended` is called from a thread of this when the main process ended, `broken` from
  // another one when its metrics have broken a rule of the job.
  Status Start(const StartProgram& start, const Staged& staged, std::function<void(TaskExit)> ended,
               std::function<void()> activity, std::function<void(const std::string& why)> broken);
  // Whether a process of the program got checkpoints.signal.
  bool AskForCheckpoint();
  void Terminate();
  void Kill();
  // Returns when `ended` has been called, at once where nothing was started. One thread.
  void Join();
  bool ended() const;  // false also where nothing was started
  // What the program ran with is kept, or given up after `within`. After Join.
  void FinishFacts(Duration within);

  // From a notice on, lines wait for nothing: its machine may be gone before it is over.
  void SayNotice(const std::optional<Notice>& notice, const Saving& saving);
  // The job is wanted at another place.
  void SayMove(const Notice& notice, const Saving& saving);
  // A recommendation ends nothing: what there is is saved now, and lines wait no longer.
  void Heed(const PlatformAdvice& advice);
  // How the program saves, as it is now. `ended_unsaved`: as there.
  Saving SavingNow(bool ended_unsaved) const;

  // Says what the report says of the program.
  UsageInput Complete(NodeReport& report);
  // What is said of processes that it left; "" = there were none.
  std::string left_behind() const;

 private:
  std::shared_ptr<Task> task() const;
  void Watch(const std::shared_ptr<Task>& task, const std::function<void(TaskExit)>& ended,
             const std::function<void()>& activity);
  void KeepEnvironment(const Staged& staged);
  RanInput FactsToKeep(const Staged& staged, const TaskCommand& command);
  void SayLeftBehind(const TaskExit& exit);
  void ReadUsage();  // under mutex_, with a task_
  std::string AtTerm(const std::shared_ptr<Task>& task) const;

  AttemptContext& here_;
  AttemptKeepers& keepers_;
  Hooks& hooks_;
  mutable std::mutex mutex_;    // guards what follows, up to left_behind_
  std::shared_ptr<Task> task_;  // once there, it stays
  TaskUsage usage_;
  std::optional<MonoTime> usage_read_;
  int64_t peak_resident_ = 0;
  std::string left_behind_;
  std::atomic<bool> signalled_{false};
  std::atomic<int64_t> term_at_{-1};  // milliseconds of MonoTime: when SIGTERM was sent
  std::unique_ptr<RanTeller> ran_;    // set before watcher_ begins
  EnvKeeper env_keeper_;
  std::thread watcher_;
};

}  // namespace stoker::node
