// SPDX-License-Identifier: Apache-2.0
// `hooks`: scripts of the job's own, each run on a node beside what stoker does at an event. A hook
// has the program's environment and work directory, its output is in the log, and a limit ends it;
// nothing that is kept waits for it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "agent/supervisor.h"
#include "node/attempt/context.h"
#include "port/process_runner.h"

namespace stoker::node {

class Hooks {
 public:
  // It must outlive it.
  explicit Hooks(AttemptContext& here) : here_(here) {}
  ~Hooks();  // ends those that run

  // The program is about to start so: hooks start likewise. Before it, no hook runs.
  void ProgramStarts(const TaskCommand& command);
  // Its machine is to be taken, or the job moves: on_notice, once until Withdrawn. The program has
  // to end within `lead`, and the hook too. Any thread.
  void Noticed(const Notice& notice, Duration lead);
  void Withdrawn();
  // The program has ended for good: on_failure, then on_end, beside the last uploads. May be
  // repeated.
  void Ended(const FinalizeAttempt& action);
  // All is kept. Ends on_notice, and returns once those of Ended are over, which their limits see
  // to; `hurried`, a notice and Leave end them now. One thread; may be repeated.
  void Settle(const std::atomic<bool>& hurried);
  // The machine is left: nothing is waited for. Any thread.
  void Leave() { leave_ = true; }

 private:
  struct Event;
  void Run(const Event& event);
  std::optional<TaskCommand> CommandOf(const Event& event);

  AttemptContext& here_;
  std::atomic<bool> stop_{false};   // those of the end are not waited for any longer
  std::atomic<bool> leave_{false};  // nor is anything else
  std::atomic<bool> end_over_{false};
  std::mutex mutex_;                    // guards what follows
  std::optional<TaskCommand> program_;  // as it was started
  bool settled_ = false;                // nothing begins any more
  bool ended_ = false;
  std::shared_ptr<std::atomic<bool>> notice_over_;  // of the notice that holds; null = none does
  std::thread at_notice_;
  std::thread at_end_;
};

}  // namespace stoker::node
