// SPDX-License-Identifier: Apache-2.0
#include "sys/task/process_runner.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "sys/file.h"
#include "sys/program_lookup.h"
#include "sys/task/cgroup.h"
#include "sys/task/process_table.h"
#include "sys/task/running_task.h"
#include "sys/task/task_line.h"
#include "sys/task/task_spawn.h"

namespace stoker {
namespace {

constexpr TaskMechanism kMechanisms[] = {TaskMechanism::kPidns, TaskMechanism::kCgroup,
                                         TaskMechanism::kSubreaper};
constexpr int kStartLimitMs = 20'000;

bool Reap(pid_t pid, int options, int* how) {
  pid_t got;
  while ((got = waitpid(pid, how, options)) < 0 && errno == EINTR) {
  }
  return got == pid;
}

// A shim that someone else ended: the kernel for want of memory, an operator. It says nothing about
// the mechanism and nothing about the program. A shim that the kernel does not let do its work ends
// by another signal (SIGSYS) or by itself.
bool Interrupts(int how) {
  return WIFSIGNALED(how) && (WTERMSIG(how) == SIGKILL || WTERMSIG(how) == SIGTERM);
}

Status Interrupted(const TaskPayload& payload, bool ended, int how) {
  const std::string what = "starting " + payload.program + ": the process that watches over it ";
  if (!ended) {
    return Status(Code::kTimeout,
                  what + "said nothing for " + std::to_string(kStartLimitMs / 1000) + " s");
  }
  return Status(Code::kUnavailable, what + "was ended by signal " + std::to_string(WTERMSIG(how)));
}

// A failure with `mechanism_works` false says that another mechanism may do better.
struct Attempt {
  Result<StartedTask> task = Status(Code::kInternal, "not started");
  bool mechanism_works = false;
};

class LocalRunner : public ProcessRunner {
 public:
  explicit LocalRunner(ProcessRunnerOptions options) : options_(std::move(options)) {}

  Result<std::unique_ptr<Task>> Start(const TaskCommand& command, LogSink& sink) override {
    STOKER_TRY(CheckCommand(command));
    TaskPayload payload = PayloadOf(command);
    STOKER_ASSIGN(payload.program, FindProgram(command.argv[0], PathOf(command), command.cwd));
    STOKER_ASSIGN(StartedTask task, StartSome(payload));
    task.out_stream = command.out;
    task.err_stream = command.err;
    return std::unique_ptr<Task>(std::make_unique<RunningTask>(std::move(task), sink));
  }

 private:
  Result<StartedTask> StartSome(const TaskPayload& payload) {
    std::string reasons;
    for (size_t i = first_; i < std::size(kMechanisms); ++i) {
      const std::string name = MechanismName(kMechanisms[i]);
      if (!options_.mechanism.empty() && options_.mechanism != name) continue;
      Attempt attempt = Try(kMechanisms[i], payload);
      if (attempt.mechanism_works && options_.mechanism.empty()) first_ = i;
      if (attempt.mechanism_works) return std::move(attempt.task);
      reasons += (reasons.empty() ? "" : "; ") + name + ": " + attempt.task.status().message();
    }
    if (reasons.empty()) {
      return Status(Code::kInvalid, "unknown way to end processes: " + options_.mechanism,
                    "use pidns, cgroup or subreaper");
    }
    return Status(Code::kInvalid, "processes cannot be ended here by " + reasons);
  }

  Attempt Try(TaskMechanism mechanism, const TaskPayload& payload) {
    const std::string limits = options_.limiter ? options_.limiter->MakeGroup() : "";
    Attempt attempt = TryIn(limits, mechanism, payload);
    if (limits.empty() || attempt.mechanism_works) return attempt;
    Attempt without = TryIn("", mechanism, payload);
    if (without.mechanism_works) options_.limiter->GiveUp(attempt.task.status());
    return without;
  }

  // `limits`: the group that holds the task's limits, which has it also where another mechanism
  // ends it; "" = none.
  Attempt TryIn(const std::string& limits, TaskMechanism mechanism, TaskPayload payload) {
    Attempt attempt;
    StartedTask task;
    task.mechanism = payload.mechanism = mechanism;
    task.limiter = options_.limiter;
    task.cgroup = payload.cgroup = limits;
    ShimSpawn spawn;
    spawn.executable = options_.self_exe;
    if (mechanism == TaskMechanism::kCgroup && limits.empty()) {
      auto cgroup = MakeTaskCgroup();
      if (!cgroup.ok()) {
        attempt.task = cgroup.status();
        return attempt;
      }
      task.cgroup = payload.cgroup = *cgroup;
    }
    spawn.host_name = payload.host_name;
    spawn.hosts_file = payload.hosts_file;
    Mark(task, payload, spawn);
    task.oom = std::make_unique<OomWatch>(task.cgroup, options_.alone);
    const std::string cgroup = task.cgroup;
    attempt = Launch(std::move(task), payload, spawn);
    if (!attempt.task.ok() && !cgroup.empty()) EndCgroup(cgroup, Duration::Seconds(1));
    return attempt;
  }

  // So that what is left can be found when shim and owner were killed together.
  static void Mark(StartedTask& task, TaskPayload& payload, ShimSpawn& spawn) {
    std::vector<std::string> marks;
    if (const char* instance = std::getenv(kInstanceMark)) {
      payload.comm = MarkComm(instance);
      marks.push_back(std::string(kInstanceMark) + "=" + instance);
    }
    if (task.mechanism == TaskMechanism::kSubreaper) {
      task.mark = std::to_string(sys::RandomU64());
      marks.push_back(std::string(kTaskMark) + "=" + task.mark);
    }
    spawn.env = marks;
    if (task.mechanism == TaskMechanism::kPidns) return;  // there the kernel keeps the books
    payload.env.insert(payload.env.end(), marks.begin(), marks.end());
  }

  static Result<pid_t> Spawn(ShimSpawn& spawn, TaskMechanism mechanism) {
    spawn.namespaces = mechanism == TaskMechanism::kPidns;
    spawn.user_namespace = spawn.namespaces && geteuid() != 0;
    auto pid = SpawnShim(spawn);
    if (pid.ok() || !spawn.namespaces || spawn.user_namespace) return pid;
    spawn.user_namespace = true;  // root of a container that lacks the right
    auto second = SpawnShim(spawn);
    return second.ok() ? second : pid;
  }

  static Attempt Launch(StartedTask task, const TaskPayload& payload, ShimSpawn& spawn) {
    Attempt attempt;
    auto line = OpenTaskLine(payload);
    if (!line.ok()) {
      attempt.task = line.status();
      attempt.mechanism_works = true;  // no other would have more descriptors
      return attempt;
    }
    for (int i = 0; i <= kPayloadFd; ++i) spawn.fds[i] = line->theirs[i];
    auto pid = Spawn(spawn, task.mechanism);
    if (!pid.ok()) {
      attempt.task = pid.status();
      return attempt;
    }
    task.shim = *pid;
    line->HandOver(&task);
    return AwaitStart(std::move(task), payload);
  }

  static Attempt AwaitStart(StartedTask task, const TaskPayload& payload) {
    Attempt attempt;
    TaskMessage message{TaskMessage::kStartFailed, EPIPE, kStageFork, 0};
    pollfd status{task.status.get(), POLLIN, 0};
    int ready;
    while ((ready = poll(&status, 1, kStartLimitMs)) < 0 && errno == EINTR) {
    }
    const bool answered =
        ready > 0 && read(task.status.get(), &message, sizeof message) == sizeof message;
    if (answered && message.kind == TaskMessage::kStarted) {
      attempt.mechanism_works = true;
      task.has_host_name = message.stage == 1;
      attempt.task = std::move(task);
      return attempt;
    }
    // Was it ended from without? Asked before we end it ourselves.
    int how = 0;
    const bool ended = Reap(task.shim, answered || ready == 0 ? WNOHANG : 0, &how);
    if (!ended) {
      kill(task.shim, SIGKILL);
      Reap(task.shim, 0, &how);
    }
    const bool interrupted = !answered && (!ended || Interrupts(how));
    attempt.mechanism_works = interrupted || (answered && message.stage != kStageCgroup);
    if (interrupted) {
      attempt.task = Interrupted(payload, ended, how);
      return attempt;
    }
    attempt.task = StartFailure(message, payload);
    return attempt;
  }

  const ProcessRunnerOptions options_;
  std::atomic<size_t> first_ = 0;  // of kMechanisms; those before it do not work here
};

class NoSink : public LogSink {
 public:
  void Write(LogStream, std::string_view) override {}
};

}  // namespace

std::unique_ptr<ProcessRunner> MakeProcessRunner(ProcessRunnerOptions options) {
  return std::make_unique<LocalRunner>(std::move(options));
}

std::vector<std::string> WorkingMechanisms(const std::string& self_exe) {
  std::vector<std::string> out;
  NoSink sink;
  for (const TaskMechanism mechanism : kMechanisms) {
    LocalRunner runner({MechanismName(mechanism), self_exe});
    // A shim without an owner: it ends at once.
    auto task = runner.Start({{self_exe, kTaskInitVerb}, {}, "/"}, sink);
    if (task.ok() && (*task)->End().ok()) out.push_back(MechanismName(mechanism));
  }
  return out;
}

}  // namespace stoker
