// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "port/process_runner.h"
#include "sys/file.h"
#include "sys/task/oom_watch.h"
#include "sys/task/process_table.h"
#include "sys/task/signal_choice.h"
#include "sys/task/task_limits.h"
#include "sys/task/task_protocol.h"

namespace stoker {

// Tasks beside another one in the same container: their shims are children of its shim, and no part
// of it. Thread-safe.
class TasksBeside {
 public:
  void Add(pid_t shim);
  // Of the processes `own`, those that are not theirs. `all` and `shim` as of DescendantsOf.
  std::vector<ProcessStat> Without(std::vector<ProcessStat> own, pid_t shim,
                                   const std::vector<ProcessStat>& all);

 private:
  std::mutex mutex_;
  std::set<pid_t> shims_;
};

// What the runner hands over once the program runs.
struct StartedTask {
  TaskMechanism mechanism = TaskMechanism::kPidns;
  pid_t shim = 0;       // our child, reaped by End; of a container, its first process
  std::string cgroup;   // "" unless mechanism is kCgroup, or it holds limits
  std::string kept_to;  // of a container: the engine's group that holds its limits, or ""
  std::shared_ptr<TasksBeside> beside;  // of a container's main task; else null
  TaskLimiter* limiter = nullptr;
  bool has_host_name = false;
  std::string mark;                         // value of kTaskMark; "" unless mechanism is kSubreaper
  sys::ScopedFd out, err, control, status;  // our ends; out, err and status do not block
  LogStream out_stream = LogStream::kOut;
  LogStream err_stream = LogStream::kErr;
  std::unique_ptr<OomWatch> oom;
};

const char* MechanismName(TaskMechanism mechanism);

// One thread a task moves its output and listens to its shim.
class RunningTask final : public Task {
 public:
  RunningTask(StartedTask started, LogSink& sink);
  ~RunningTask() override;

  std::optional<TaskExit> Poll() override;
  std::optional<TaskExit> Wait(int64_t timeout_ms) override;
  Result<std::vector<SignalledProcess>> Signal(int signo) override;
  Result<std::vector<SignalledProcess>> Stop() override;
  bool SavesAtStop() override;
  Status End() override;
  TaskUsage Usage() override;
  std::string mechanism() const override { return MechanismName(task_.mechanism); }
  bool has_host_name() const override { return task_.has_host_name; }
  std::vector<int> Processes() override;

 private:
  void Pump();
  // Moves what is there; false at the end of the pipe. `limit` bytes at most.
  bool Move(sys::ScopedFd& pipe, LogStream stream, int64_t limit);
  void Drain();
  void ReadStatus();
  void MainExited(TaskExit exit);
  TaskExit Judged(TaskExit exit);
  void SetExit(const TaskExit& exit);  // only the first counts
  // The next step of a stop, or of an end that left processes behind; tells the held-back end once
  // nothing lives any more, or what was left behind has had its time.
  void FollowStop();
  std::vector<ProcessStat> Descendants(const std::vector<ProcessStat>& all);
  // Who lives; `signo` as in LookAt. The caller holds end_mutex_.
  std::vector<SeenProcess> Living(int signo);
  Result<std::vector<SignalledProcess>> Send(int signo, const std::vector<pid_t>& pids,
                                             const std::vector<SeenProcess>& among);
  // The caller holds end_mutex_, and stop_ is there.
  Result<std::vector<SignalledProcess>> StepStop(const std::vector<SeenProcess>& living);
  void Peaks(int64_t bytes);
  // Asks the shim to end everything, and waits for it. False when it does not come to an end.
  bool EndShim();
  bool EndInContainer();
  // Without the shim's help.
  bool EndStrays();

  StartedTask task_;
  LogSink& sink_;
  sys::ScopedFd wake_;              // eventfd: a stop has begun, or everything has ended
  std::unique_ptr<char[]> buffer_;  // of the pump
  std::thread pump_;

  std::mutex mutex_;  // of exit_
  std::condition_variable exited_;
  std::optional<TaskExit> exit_;
  std::optional<TaskExit> held_back_;  // the main process's, while others live

  std::mutex end_mutex_;  // of end_status_, stop_, left_since_ and reaping the shim
  std::optional<StopRound> stop_;
  std::optional<MonoTime> left_since_;  // the program has ended, and nobody had told it to
  std::atomic<bool> stopping_ = false;  // the pump follows a stop
  Status end_status_;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> drained_ = false;  // everything has ended: the pump drains and stops
  std::atomic<bool> killed_ = false;   // SIGKILL was sent by us
  std::atomic<int64_t> cpu_ms_ = 0;    // highest seen: a counter never goes back
  std::atomic<uint64_t> sent_ = 0;     // a bit for each signal that was sent by us
  std::atomic<int64_t> peak_bytes_ = 0;
};

}  // namespace stoker
