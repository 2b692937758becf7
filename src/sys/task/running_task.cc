// SPDX-License-Identifier: Apache-2.0
#include "sys/task/running_task.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>

#include "sys/real_clock.h"
#include "sys/task/cgroup.h"
#include "sys/task/process_table.h"

namespace stoker {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr int64_t kDrainBytes = 2 << 20;  // a full pipe and then some
constexpr Duration kShimPatience = Duration::Seconds(15);
constexpr Duration kStrayLimit = Duration::Seconds(10);
constexpr int kStopStepMs = 50;
constexpr Duration kOnTheirWayOut = Duration::Ms(100);  // helpers that end with the program
constexpr uint64_t kOne = 1;                            // what wakes the pump

TaskExit ExitOf(int wait_status) {
  TaskExit exit;
  if (WIFSIGNALED(wait_status)) {
    exit.signal = WTERMSIG(wait_status);
  } else {
    exit.exit_code = WEXITSTATUS(wait_status);
  }
  return exit;
}

// False when the child `pid` did not end within `limit`.
bool WaitChild(pid_t pid, Duration limit, int& status) {
  for (int64_t waited_us = 0; waited_us <= limit.ms * 1000;) {
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) return true;
    if (got < 0 && errno != EINTR) {
      status = 0;
      return errno == ECHILD;
    }
    const int64_t pause = std::min<int64_t>(10'000, 100 + waited_us / 8);
    usleep(static_cast<useconds_t>(pause));
    waited_us += pause;
  }
  return false;
}

}  // namespace

const char* MechanismName(TaskMechanism mechanism) {
  switch (mechanism) {
    case TaskMechanism::kPidns:
      return "pidns";
    case TaskMechanism::kCgroup:
      return "cgroup";
    case TaskMechanism::kSubreaper:
      return "subreaper";
    case TaskMechanism::kContainer:
      return "container";
  }
  return "subreaper";
}

void TasksBeside::Add(pid_t shim) {
  const std::lock_guard lock(mutex_);
  shims_.insert(shim);
}

std::vector<ProcessStat> TasksBeside::Without(std::vector<ProcessStat> own, pid_t shim,
                                              const std::vector<ProcessStat>& all) {
  const std::lock_guard lock(mutex_);
  std::set<pid_t> theirs, alive;
  for (const ProcessStat& p : all) {
    if (p.parent == shim && shims_.count(p.pid) > 0) alive.insert(p.pid);
  }
  // The pid of one that has ended may become anyone's; `all` may be older than one that was added.
  std::erase_if(shims_, [&](pid_t one) {
    if (alive.count(one) > 0) return false;
    const auto now = ReadProcessStat(one);
    return !now || now->parent != shim;
  });
  for (const pid_t one : alive) {
    theirs.insert(one);
    for (const ProcessStat& p : DescendantsOf(one, all)) theirs.insert(p.pid);
  }
  std::erase_if(own, [&](const ProcessStat& p) { return theirs.count(p.pid) > 0; });
  return own;
}

RunningTask::RunningTask(StartedTask started, LogSink& sink)
    : task_(std::move(started)),
      sink_(sink),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      buffer_(new char[kBufferBytes]) {
  pump_ = std::thread([this] { Pump(); });
}

RunningTask::~RunningTask() { (void)End(); }

bool RunningTask::Move(sys::ScopedFd& pipe, LogStream stream, int64_t limit) {
  for (int64_t moved = 0; moved < limit;) {
    const ssize_t n = read(pipe.get(), buffer_.get(), kBufferBytes);
    if (n > 0) {
      sink_.Write(stream, std::string_view(buffer_.get(), static_cast<size_t>(n)));
      moved += n;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    pipe.Reset();
    return false;
  }
  return true;
}

void RunningTask::Pump() {
  while (true) {
    // poll skips an entry with descriptor -1.
    pollfd fds[4] = {{task_.out.get(), POLLIN, 0},
                     {task_.err.get(), POLLIN, 0},
                     {task_.status.get(), POLLIN, 0},
                     {wake_.get(), POLLIN, 0}};
    if (poll(fds, 4, stopping_ ? kStopStepMs : -1) < 0) continue;
    // Bounded by the buffer, so that a flood on one pipe does not starve the other.
    if (fds[0].revents != 0) Move(task_.out, task_.out_stream, kBufferBytes);
    if (fds[1].revents != 0) Move(task_.err, task_.err_stream, kBufferBytes);
    if (fds[2].revents != 0) ReadStatus();
    if (drained_) break;
    if (fds[3].revents != 0) {
      uint64_t count = 0;
      (void)!read(wake_.get(), &count, sizeof count);
    }
    if (stopping_ && !Poll()) FollowStop();
  }
  Drain();
}

// Every process of the task is gone, so what they wrote is in the pipes now. Whoever else holds a
// pipe open (it got the descriptor passed, from outside) may not keep us.
void RunningTask::Drain() {
  if (task_.status.valid()) ReadStatus();
  bool held = false;
  if (task_.out.valid()) held |= Move(task_.out, task_.out_stream, kDrainBytes);
  if (task_.err.valid()) held |= Move(task_.err, task_.err_stream, kDrainBytes);
  if (held) {
    sink_.Write(LogStream::kSystem,
                "stoker: a process outside the task still holds its output open; what it writes "
                "from now on is not recorded\n");
  }
}

void RunningTask::ReadStatus() {
  TaskMessage message;
  while (true) {
    const ssize_t n = read(task_.status.get(), &message, sizeof message);
    if (n == sizeof message) {
      if (message.kind == TaskMessage::kExited) {
        Peaks(message.peak);
        MainExited(ExitOf(message.value));
      }
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    break;
  }
  // The shim is gone: ended by End, or killed by someone. Then the program died with it.
  task_.status.Reset();
  if (ending_) return;
  EndStrays();
  TaskExit exit;
  exit.signal = SIGKILL;
  exit.unwatched = true;
  SetExit(Judged(exit));
}

void RunningTask::MainExited(TaskExit exit) {
  exit = Judged(exit);
  exit.untold = sent_ == 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_back_ = exit;
  }
  stopping_ = true;
}

// At once: what is sent to others later, and what memory they take, is no matter of this end.
TaskExit RunningTask::Judged(TaskExit exit) {
  const OomWatch::Verdict verdict = task_.oom->Judge(exit, killed_, peak_bytes_);
  exit.out_of_memory = verdict == OomWatch::Verdict::kProven;
  exit.memory_short = verdict == OomWatch::Verdict::kPossible;
  exit.ours = exit.signal > 0 && exit.signal < 64 && ((sent_ >> exit.signal) & 1) != 0;
  const std::string& group = task_.cgroup.empty() ? task_.kept_to : task_.cgroup;
  if (exit.out_of_memory && task_.limiter != nullptr && !group.empty()) {
    task_.limiter->OutOfMemory(group);
  }
  return exit;
}

void RunningTask::SetExit(const TaskExit& exit) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (exit_) return;
  exit_ = exit;
  exited_.notify_all();
}

std::optional<TaskExit> RunningTask::Poll() {
  std::lock_guard<std::mutex> lock(mutex_);
  return exit_;
}

std::optional<TaskExit> RunningTask::Wait(int64_t timeout_ms) {
  task_.oom->Look();
  std::unique_lock<std::mutex> lock(mutex_);
  exited_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                   [this] { return exit_.has_value(); });
  return exit_;
}

void RunningTask::Peaks(int64_t bytes) {
  int64_t seen = peak_bytes_;
  while (seen < bytes && !peak_bytes_.compare_exchange_weak(seen, bytes)) {
  }
}

std::vector<ProcessStat> RunningTask::Descendants(const std::vector<ProcessStat>& all) {
  std::vector<ProcessStat> own = DescendantsOf(task_.shim, all);
  return task_.beside ? task_.beside->Without(std::move(own), task_.shim, all) : own;
}

std::vector<int> RunningTask::Processes() {
  std::set<int> out;
  if (ended_) return {};
  for (const ProcessStat& p : Descendants(ListProcesses())) out.insert(p.pid);
  if (!task_.cgroup.empty()) {
    for (const pid_t pid : CgroupProcesses(task_.cgroup)) {
      const auto stat = ReadProcessStat(pid);
      if (stat && !stat->ended()) out.insert(pid);
    }
  }
  return {out.begin(), out.end()};
}

std::vector<SeenProcess> RunningTask::Living(int signo) {
  std::vector<ProcessStat> living;
  for (const int pid : Processes()) {
    if (auto stat = ReadProcessStat(pid); stat && !stat->ended()) living.push_back(*stat);
  }
  return LookAt(living, signo);
}

Result<std::vector<SignalledProcess>> RunningTask::Send(int signo, const std::vector<pid_t>& pids,
                                                        const std::vector<SeenProcess>& among) {
  std::vector<SignalledProcess> told;
  Status failed;  // one of another user, as sudo's, keeps it from no other
  if (!pids.empty()) sent_ |= uint64_t{1} << signo;
  for (const pid_t pid : pids) {
    if (kill(pid, signo) != 0) {
      if (errno != ESRCH && failed.ok()) {
        failed = ErrnoStatus(
            "signal " + std::to_string(signo) + " to process " + std::to_string(pid), errno);
      }
      continue;
    }
    const auto seen = std::find_if(among.begin(), among.end(),
                                   [pid](const SeenProcess& one) { return one.pid == pid; });
    std::string command = seen->command_line.empty() ? seen->exe : seen->command_line;
    while (!command.empty() && command.back() == '\0') command.pop_back();
    std::replace(command.begin(), command.end(), '\0', ' ');
    told.push_back({pid, std::move(command)});
  }
  if (told.empty() && !failed.ok()) return failed;
  return told;
}

Result<std::vector<SignalledProcess>> RunningTask::Signal(int signo) {
  // The lock keeps the shim's pid ours: it is not reaped meanwhile.
  std::lock_guard<std::mutex> lock(end_mutex_);
  if (ended_) return std::vector<SignalledProcess>{};
  const std::vector<SeenProcess> living = Living(signo);
  std::vector<pid_t> chosen = ChooseReceivers(living, {});
  if (chosen.empty()) chosen = ShellsThatTrap(living);
  return Send(signo, chosen, living);
}

bool RunningTask::SavesAtStop() {
  std::lock_guard<std::mutex> lock(end_mutex_);
  return !ended_ && AnyTrainerCatches(Living(SIGTERM));
}

Result<std::vector<SignalledProcess>> RunningTask::StepStop(
    const std::vector<SeenProcess>& living) {
  return Send(SIGTERM, stop_->Step(living, RealClock().Mono()), living);
}

Result<std::vector<SignalledProcess>> RunningTask::Stop() {
  std::lock_guard<std::mutex> lock(end_mutex_);
  if (ended_ || Poll()) return std::vector<SignalledProcess>{};
  left_since_.reset();  // whoever stops it has a time of its own
  if (stop_) return std::vector<SignalledProcess>{};
  stop_.emplace();
  stopping_ = true;
  auto told = StepStop(Living(SIGTERM));
  (void)!write(wake_.get(), &kOne, sizeof kOne);  // the pump follows
  return told;
}

void RunningTask::FollowStop() {
  std::unique_lock<std::mutex> lock(end_mutex_, std::try_to_lock);
  if (!lock || ended_) return;  // End has it, and is done with all this
  std::optional<TaskExit> exit;
  {
    const std::lock_guard<std::mutex> of_exit(mutex_);
    exit = held_back_;
  }
  const std::vector<SeenProcess> living = Living(SIGTERM);
  const MonoTime now = RealClock().Mono();
  if (exit && !stop_ && !left_since_) left_since_ = now;
  const Duration left = left_since_ ? now - *left_since_ : Duration{};
  if (!stop_ && !living.empty() && left >= kOnTheirWayOut) {
    stop_.emplace();
    const std::lock_guard<std::mutex> of_exit(mutex_);
    held_back_->left_behind = static_cast<int>(living.size());
  }
  if (stop_) (void)StepStop(living);
  if (exit && (living.empty() || left >= kLeftBehindGrace)) SetExit(*exit);
}

// The shim of a container is no child of ours, and serves the next task, too: it closes its end of
// `control` once nothing of this one is left, as the kernel does for it when it ends.
bool RunningTask::EndInContainer() {
  while (send(task_.control.get(), &kEndEverything, 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
  pollfd control{task_.control.get(), POLLIN, 0};
  const MonoTime give_up = RealClock().Mono() + kShimPatience;
  for (;;) {
    const int64_t left = (give_up - RealClock().Mono()).ms;
    if (left <= 0) return false;
    if (poll(&control, 1, static_cast<int>(left)) <= 0) continue;
    char byte;
    if (read(control.fd, &byte, 1) <= 0 && errno != EINTR) return true;
  }
}

bool RunningTask::EndShim() {
  int status = 0;
  if (task_.mechanism == TaskMechanism::kContainer) return EndInContainer();
  if (task_.mechanism == TaskMechanism::kPidns) {
    kill(task_.shim, SIGKILL);
    return WaitChild(task_.shim, kShimPatience + kStrayLimit, status);
  }
  kill(task_.shim, SIGCONT);  // the program, being of the same user, may have stopped it
  // Without the signal that a dead shim would send back.
  while (send(task_.control.get(), &kEndEverything, 1, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
  task_.control.Reset();
  bool answered = WaitChild(task_.shim, kShimPatience, status);
  if (answered && WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  if (!answered) {
    kill(task_.shim, SIGKILL);
    answered = WaitChild(task_.shim, kStrayLimit, status);
  }
  return EndStrays() && answered;
}

bool RunningTask::EndStrays() {
  switch (task_.mechanism) {
    case TaskMechanism::kPidns:
      return true;
    case TaskMechanism::kCgroup:
      return EndCgroup(task_.cgroup, kStrayLimit);
    case TaskMechanism::kSubreaper:
      return EndMarkedProcesses(kTaskMark, task_.mark, Duration::Ms(0), kStrayLimit);
    case TaskMechanism::kContainer:
      return true;  // with its first process the kernel ends all others
  }
  return true;
}

Status RunningTask::End() {
  std::lock_guard<std::mutex> lock(end_mutex_);
  if (ended_) return end_status_;
  (void)Usage();  // the last chance to see them
  ending_ = true;
  if (!Poll()) {
    killed_ = true;
    sent_ |= uint64_t{1} << SIGKILL;
  }
  const std::vector<int> before = Processes();
  if (!EndShim()) {
    end_status_ = Status(Code::kTimeout,
                         "some of the task's " + std::to_string(before.size()) +
                             " processes could not be ended (mechanism " + mechanism() + ")",
                         "they belong to another user, or hang in the kernel");
  }
  // One that holds limits alone is empty by now.
  if (task_.mechanism != TaskMechanism::kCgroup && !task_.cgroup.empty()) {
    (void)EndCgroup(task_.cgroup, kStrayLimit);
  }
  drained_ = true;
  (void)!write(wake_.get(), &kOne, sizeof kOne);
  pump_.join();
  std::optional<TaskExit> exit;
  {
    const std::lock_guard<std::mutex> of_exit(mutex_);
    exit = held_back_;
  }
  if (!exit && !Poll()) exit = Judged({.signal = SIGKILL});
  if (exit) SetExit(*exit);
  ended_ = true;
  return end_status_;
}

TaskUsage RunningTask::Usage() {
  TaskUsage usage;
  usage.cpu_seconds = static_cast<double>(cpu_ms_) / 1000.0;
  usage.peak_bytes = peak_bytes_;
  if (ended_) return usage;
  // What has ended is in the times of who waited for it; the last of these is the shim. It is read
  // first: what ends from here on is in this sum once at most, and whole in the next one.
  const auto shim = ReadProcessStat(task_.shim);
  int64_t ticks = shim ? shim->children_ticks : 0;
  const std::vector<ProcessStat> all = ListProcesses();
  for (const ProcessStat& p : Descendants(all)) {
    ++usage.processes;
    usage.resident_bytes += p.resident_pages * sysconf(_SC_PAGESIZE);
    ticks += p.own_ticks + p.children_ticks;
  }
  int64_t cpu_ms = ticks * 1000 / sysconf(_SC_CLK_TCK);
  if (!task_.cgroup.empty()) {
    if (const auto us = CgroupValue(task_.cgroup, "cpu.stat", "usage_usec")) cpu_ms = *us / 1000;
    const bool whole = task_.mechanism == TaskMechanism::kCgroup;
    auto memory = sys::ReadFile(task_.cgroup + "/memory.current", 4096);
    if (whole && memory.ok()) {
      usage.resident_bytes = std::strtoll(memory->c_str(), nullptr, 10);
    }
  }
  Peaks(usage.resident_bytes);
  usage.peak_bytes = peak_bytes_;
  int64_t seen = cpu_ms_;
  while (seen < cpu_ms && !cpu_ms_.compare_exchange_weak(seen, cpu_ms)) {
  }
  usage.cpu_seconds = static_cast<double>(std::max(seen, cpu_ms)) / 1000.0;
  return usage;
}

}  // namespace stoker
