// SPDX-License-Identifier: Apache-2.0
// One container, in which task after task is started. The engine starts and removes it; whatever
// runs in it is started, seen, signalled and ended without the engine.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "container/engine_argv.h"
#include "port/process_runner.h"
#include "sys/command.h"
#include "sys/container/engine_child.h"
#include "sys/file.h"
#include "sys/task/running_task.h"
#include "sys/task/task_limits.h"
#include "sys/task/task_protocol.h"

namespace stoker {

// While a container begins, which may take long.
struct ContainerBegin {
  sys::Stopped stopped{};                              // nobody waits for it any more
  std::function<void(const std::string& line)> say{};  // why it takes so long; once
};

class Container final : public ProcessRunner {
 public:
  // `plan`: all but `verb`, `program`, `socket_dir` and the limits, which are set here;
  // `plan.owner` is an existing folder of the caller's. What is left of that owner's containers
  // goes first. `limiter`, which must outlive it, may be null. kInvalid: it would not start
  // elsewhere either; kTimeout: not in time, 5 min, and 30 of a user's podman, which may have to
  // prepare the image; kCancelled: stopped. What has begun after all then ends by itself, and the
  // next one of that owner removes it.
  static Result<std::unique_ptr<Container>> Open(const EngineFacts& engine, ContainerPlan plan,
                                                 TaskLimiter* limiter,
                                                 const ContainerBegin& begin = {});
  // Ends all that runs in it, and removes it, unless Remove has tried.
  ~Container() override;
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  // What the image sets, and the engine.
  const std::vector<std::pair<std::string, std::string>>& variables() const { return variables_; }
  // In front of each program's words.
  const std::vector<std::string>& entrypoint() const { return entrypoint_; }
  // Who its processes are on this machine.
  uid_t uid() const { return uid_; }
  gid_t gid() const { return gid_; }
  // Where podman keeps its images, as the container's own root tells; "" = not to be seen.
  const std::string& store() const { return store_; }
  // What the engine had to say though it started: limits that it does not hold. "" = nothing.
  const std::string& remark() const { return remark_; }

  // Ends all that runs in it: its first process ends by itself, the kernel ends the others, and the
  // engine, which may hang, is not asked. Harmless to repeat.
  void Release();
  // Release, and the engine is asked to forget it, for `within_ms` at most; not again. Errors: it
  // may be in the engine's books still, from where SweepContainers removes it.
  Status Remove(int64_t within_ms);

  // One task at a time. kNotFound: no such program in the container.
  Result<std::unique_ptr<Task>> Start(const TaskCommand& command, LogSink& sink) override;
  // Beside it, or without it, and any number: its end leaves these alone, and theirs it. Any
  // thread.
  Result<std::unique_ptr<Task>> StartBeside(const TaskCommand& command, LogSink& sink);

 private:
  explicit Container(EngineFacts engine) : engine_(std::move(engine)) {}
  Status Heard(const Status& answer);
  Status Begin(const ContainerPlan& plan, const ContainerBegin& begin);
  Status BeginChild(const ContainerPlan& plan, const ContainerBegin& begin);
  Status HoldTo(const std::string& group);
  Status Listen(const std::string& folder);
  Status Accept(const sys::Stopped& stopped);
  Status TakeHosts(const TaskHost& host);
  Result<std::unique_ptr<Task>> StartTask(char kind, const TaskCommand& command, LogSink& sink);
  Status Send(char kind, const int (&fds)[kPayloadFd + 1]);

  const EngineFacts engine_;
  bool asked_to_remove_ = false;
  std::string owner_;
  std::string hosts_file_;  // "" = the machine's, and its name
  TaskLimiter* limiter_ = nullptr;
  std::unique_ptr<EngineChild> child_;  // the client, where the engine keeps no books
  std::string group_;                   // made for it, where its engine holds no limits
  std::mutex mutex_;                    // of life_, once it is there
  sys::ScopedFd listener_, life_;
  const std::shared_ptr<TasksBeside> beside_ = std::make_shared<TasksBeside>();
  int first_ = 0;  // its first process, as this process sees it
  std::string kept_to_;
  std::vector<std::pair<std::string, std::string>> variables_;
  std::vector<std::string> entrypoint_;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  std::string store_;
  std::string remark_;
};

}  // namespace stoker
