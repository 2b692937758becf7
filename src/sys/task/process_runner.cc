// SPDX-License-Identifier: Apache-2.0
#include "sys/task/process_runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
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
#include "sys/task/task_spawn.h"

namespace stoker {
namespace {

constexpr TaskMechanism kMechanisms[] = {TaskMechanism::kPidns, TaskMechanism::kCgroup,
                                         TaskMechanism::kSubreaper};
constexpr char kDefaultPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr int kPipeBytes = 1 << 20;
constexpr int kStartLimitMs = 20'000;

struct Pipe {
  sys::ScopedFd read, write;
};

Result<Pipe> MakePipe(bool large) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus("making a pipe", errno);
  // Past the user's quota for pipe memory the kernel refuses: then it stays at 64 KiB.
  if (large) (void)fcntl(fds[0], F_SETPIPE_SZ, kPipeBytes);
  Pipe out;
  out.read.Reset(fds[0]);
  out.write.Reset(fds[1]);
  return out;
}

// `read` is the shim's end. A socket, because a write to it can be kept from raising SIGPIPE.
Result<Pipe> MakeControl() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    return ErrnoStatus("making a socket pair", errno);
  }
  Pipe out;
  out.read.Reset(fds[0]);
  out.write.Reset(fds[1]);
  return out;
}

Result<sys::ScopedFd> PayloadFile(const TaskPayload& payload) {
  sys::ScopedFd fd(memfd_create("stoker-task", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("making a memory file", errno);
  STOKER_TRY(sys::WriteAll(fd.get(), EncodePayload(payload), "memory file"));
  if (lseek(fd.get(), 0, SEEK_SET) != 0) return ErrnoStatus("rewinding a memory file", errno);
  return fd;
}

Status CheckCommand(const TaskCommand& command) {
  if (command.argv.empty()) return Status(Code::kInvalid, "the command is empty");
  for (const std::string& arg : command.argv) {
    if (arg.find('\0') != std::string::npos) {
      return Status(Code::kInvalid, "an argument holds a NUL byte: " + Printable(arg));
    }
  }
  for (const auto& [name, value] : command.env) {
    if (name.empty() || (name + value).find('\0') != std::string::npos ||
        name.find('=') != std::string::npos) {
      return Status(Code::kInvalid, "not an environment variable: " + Printable(name));
    }
  }
  struct stat info {};
  if (stat(command.cwd.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Status(Code::kInvalid, "the working directory " + command.cwd + " is not there");
  }
  return Status::Ok();
}

Status StartFailure(const TaskMessage& message, const TaskPayload& payload) {
  const int error = message.value;
  if (message.stage == kStageCwd) {
    return Status(Code::kInvalid, ErrnoStatus("working directory " + payload.cwd, error).message());
  }
  if (message.stage != kStageExec) return ErrnoStatus("starting " + payload.program, error);
  switch (error) {
    case ENOENT:
      return Status(Code::kNotFound,
                    payload.program +
                        ": is there, but the loader or interpreter that it names is "
                        "not on this machine",
                    "it was built for another system or C library");
    case ENOEXEC:
      return Status(Code::kInvalid,
                    payload.program +
                        ": is not a program for this machine, nor a script with a "
                        "#! line",
                    "start it through its interpreter, for example: bash " + payload.program);
    case E2BIG:
      return Status(Code::kInvalid, payload.program +
                                        ": its arguments and environment together "
                                        "are longer than the kernel allows");
    default:
      return ErrnoStatus("executing " + payload.program, error);
  }
}

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
    TaskPayload payload;
    std::string path = kDefaultPath;
    for (const auto& [name, value] : command.env) {
      if (name == "PATH") path = value;
      // Of what depends on the host name the shim decides: it knows whether there is one.
      const auto& others = command.host.env_without;
      const bool depends = std::any_of(others.begin(), others.end(),
                                       [&n = name](const auto& other) { return other.first == n; });
      (depends ? payload.env_with_host_name : payload.env).push_back(name + "=" + value);
    }
    for (const auto& [name, value] : command.host.env_without) {
      payload.env_without_host_name.push_back(name + "=" + value);
    }
    payload.host_name = command.host.name;
    payload.hosts_file = command.host.hosts_file;
    STOKER_ASSIGN(payload.program, FindProgram(command.argv[0], path, command.cwd));
    payload.argv = command.argv;
    payload.cwd = command.cwd;
    payload.lock = command.lock;
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
    auto file = PayloadFile(payload);
    auto null = sys::Open("/dev/null", O_RDWR);
    auto out = MakePipe(true), err = MakePipe(true), control = MakeControl(),
         status = MakePipe(false);
    for (const Status& s : {file.status(), null.status(), out.status(), err.status(),
                            control.status(), status.status()}) {
      if (s.ok()) continue;
      attempt.task = s;
      attempt.mechanism_works = true;  // no other would have more descriptors
      return attempt;
    }
    const int lock = payload.lock >= 0 ? payload.lock : null->get();
    const int fds[] = {null->get(),         out->write.get(),    err->write.get(),
                       control->read.get(), status->write.get(), lock,
                       file->get()};
    std::copy(std::begin(fds), std::end(fds), spawn.fds);
    auto pid = Spawn(spawn, task.mechanism);
    if (!pid.ok()) {
      attempt.task = pid.status();
      return attempt;
    }
    task.shim = *pid;
    out->write.Reset();
    err->write.Reset();
    status->write.Reset();
    for (const int fd : {out->read.get(), err->read.get(), status->read.get()}) {
      fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    task.out = std::move(out->read);
    task.err = std::move(err->read);
    task.status = std::move(status->read);
    task.control = std::move(control->write);
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
