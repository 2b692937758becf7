// SPDX-License-Identifier: Apache-2.0
#include "sys/container/container.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/text.h"
#include "base/time.h"
#include "container/apptainer_argv.h"
#include "container/engine_words.h"
#include "sys/container/container_init.h"
#include "sys/container/engine_notes.h"
#include "sys/container/engines.h"
#include "sys/container/machine.h"
#include "sys/task/cgroup.h"
#include "sys/task/running_task.h"
#include "sys/task/task_line.h"

namespace stoker {
namespace {

// What an engine may take to begin a container on the busiest machine.
constexpr int64_t kEndChildMs = 1'000;
constexpr int64_t kRunMs = 300'000;
// And a user's podman, which copies an image for its user (--userns=keep-id) before the first
// container of it, file by file; begun anew it would begin with the first file again.
constexpr int64_t kPrepareMs = 1'800'000, kPrepareSaidMs = 15'000;
constexpr int kHelloMs = 120'000;
constexpr int kAnswerMs = 20'000;
constexpr int kGlanceMs = 100;
constexpr char kFirstVersion[] = "/sys/fs/cgroup/memory";

// The group of `pid` that counts its memory, of either version; "" = not to be seen.
std::string MemoryGroupOf(int pid) {
  const std::string text =
      sys::ReadFile("/proc/" + std::to_string(pid) + "/cgroup", 64 << 10).value_or("");
  std::string second;
  for (const std::string& line : Split(text, '\n')) {
    if (const size_t at = line.find(":memory:/"); at != std::string::npos) {
      return kFirstVersion + line.substr(at + std::strlen(":memory:"));
    }
    if (StartsWith(line, "0::/")) second = line.substr(3);
  }
  const auto mounts = sys::ReadFile("/proc/self/mountinfo");
  const std::string mount = mounts.ok() ? Cgroup2Mount(*mounts) : "";
  return mount.empty() || second.empty() || second == "/" ? "" : mount + second;
}

// This program's file, which a container is given; a running one may have been replaced.
Result<std::string> OwnFile() {
  STOKER_ASSIGN(const std::string path, sys::RealPath("/proc/self/exe"));
  if (sys::FileExists(path)) return path;
  return Status(Code::kUnavailable, "stoker's own file " + path + " is gone",
                "It was replaced while this runs: start it again");
}

// What podman says of limits that it leaves out, but for the one that is lifted.
std::string RemarkIn(const std::string& error) {
  for (const std::string& line : Split(error, '\n')) {
    if (line.find("PIDs limit") != std::string::npos) continue;
    if (line.find("ignored") != std::string::npos || line.find("discarded") != std::string::npos) {
      return Printable(line);
    }
  }
  return "";
}

// Another user's first process reaches its socket by its mount, and may run the program; nobody
// else does on the machine, as the socket's folder lies in one that is closed.
Status OpenToOthers(const ContainerPlan& plan) {
  const std::string socket = plan.socket_dir + "/socket";
  struct stat program {};
  if (stat(plan.program.c_str(), &program) != 0 ||
      chmod(plan.program.c_str(), (program.st_mode & 07777) | 0555) != 0) {
    return ErrnoStatus("opening " + plan.program + " to container.user", errno);
  }
  if (chmod(plan.owner.c_str(), 0700) == 0 && chmod(plan.socket_dir.c_str(), 0711) == 0 &&
      chmod(socket.c_str(), 0666) == 0) {
    return Status::Ok();
  }
  return ErrnoStatus("opening " + socket + " to container.user", errno);
}

bool ReadWhole(int fd, char* to, size_t size) {
  for (size_t got = 0; got < size;) {
    const ssize_t n = read(fd, to + got, size - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    got += static_cast<size_t>(n);
  }
  return true;
}

bool SendTask(int to, char kind, const int (&fds)[kPayloadFd + 1]) {
  iovec data{&kind, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(head), fds, sizeof fds);
  ssize_t n;
  while ((n = sendmsg(to, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return n == 1;
}

bool Await(int fd, int ms = kAnswerMs) {
  pollfd waiting{fd, POLLIN, 0};
  int ready;
  while ((ready = poll(&waiting, 1, ms)) < 0 && errno == EINTR) {
  }
  return ready > 0;
}

// The shim at the other end of `control`, as this process sees it: it says so before all else, and
// begins nothing before it is known. 0 = it does not.
pid_t MeetShim(int control) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  if (!Await(control) || recvmsg(control, &message, MSG_CMSG_CLOEXEC) != 1) return 0;
  const cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_type != SCM_CREDENTIALS) return 0;
  ucred peer{};
  std::memcpy(&peer, CMSG_DATA(head), sizeof peer);
  return peer.pid;
}

// crun 1.28 cannot keep a user's ids and groups at once, and says no more than this. Source:
// github.com/containers/crun/issues/2224.
bool MindsGroups(const ContainerPlan& plan, const std::string& error) {
  return !plan.groups.empty() && error.find("readlink ``") != std::string::npos;
}

Status HasEnded() {
  return Status(Code::kUnavailable, "the container has ended",
                "Somebody removed it, or its engine ended it");
}

}  // namespace

Result<std::unique_ptr<Container>> Container::Open(const EngineFacts& engine, ContainerPlan plan,
                                                   TaskLimiter* limiter,
                                                   const ContainerBegin& begin) {
  std::unique_ptr<Container> made(new Container(engine));
  made->owner_ = plan.owner;
  made->limiter_ = limiter;
  plan.socket_dir = plan.owner + kContainerFolder;
  // Made before the first, so that nobody asks for what was never begun.
  if (sys::FileExists(plan.socket_dir)) {
    STOKER_TRY(made->Heard(RemoveContainers(engine, plan.owner, kRemoveWithinMs, begin.stopped)));
  }
  plan.verb = kContainerVerb;
  STOKER_ASSIGN(plan.program, OwnFile());
  STOKER_TRY(sys::MakeDirs(plan.socket_dir, 0700));
  STOKER_TRY(made->Listen(plan.socket_dir));
  if (!plan.spec.user.empty()) STOKER_TRY(OpenToOthers(plan));
  made->entrypoint_ = plan.entrypoint;
  if (limiter != nullptr) {
    const TaskLimits limits = limiter->asked();
    plan.memory = limits.memory;
    plan.cpus = limits.cpus;
  }
  if (!plan.host_name.empty()) {
    plan.hosts_file = made->hosts_file_ = plan.socket_dir + "/hosts";
    STOKER_TRY(sys::WriteFileAtomic(plan.hosts_file, "", 0644, false));
  }
  LearnOfMachine(&plan);
  STOKER_TRY(KeepsBooks(engine.kind) ? made->Begin(plan, begin) : made->BeginChild(plan, begin));
  if (const std::string lost = TellLostGroups(plan, made->first_); !lost.empty()) {
    made->remark_ += (made->remark_.empty() ? "" : "; ") +
                     ("the program is not in the groups " + lost) +
                     " of who submitted the job: what only these may read is closed to it";
  }
  return made;
}

// An engine that does not answer is not asked to forget the container, too: who comes next does.
Status Container::Heard(const Status& answer) {
  asked_to_remove_ |= answer.Is(Code::kTimeout) || answer.Is(Code::kCancelled);
  return answer;
}

Status Container::Begin(const ContainerPlan& plan, const ContainerBegin& begin) {
  const bool prepares = engine_.kind == EngineKind::kPodman && engine_.rootless;
  const int64_t within_ms = prepares ? kPrepareMs : kRunMs;
  const auto begun = std::chrono::steady_clock::now();
  bool told = !prepares || !begin.say;
  const auto said = AskEngine(
      RunArgv(engine_, plan), within_ms,
      [&] {
        if (!told &&
            std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds(kPrepareSaidMs)) {
          told = true;
          begin.say(
              "podman prepares the image for this user, which it does before the first container "
              "of it, and which takes the longer the more files it has; it may take " +
              FormatDuration(Duration::Ms(within_ms)));
        }
        return begin.stopped && begin.stopped();
      },
      plan.socket_dir);
  STOKER_TRY(Heard(said.status()));
  if (said->exit_code != 0 && MindsGroups(plan, said->err)) {
    ContainerPlan without = plan;  // which is told to be lost
    without.groups.clear();
    return Begin(without, begin);
  }
  if (said->exit_code != 0) {
    return EngineFailure(engine_, "start a container of " + plan.image, said->exit_code, said->err);
  }
  remark_ = RemarkIn(said->err);
  STOKER_TRY(Heard(Accept(begin.stopped)));
  kept_to_ = MemoryGroupOf(first_);
  store_ = StoreOf(first_);
  return Status::Ok();
}

// What it writes lies in folders of its own, which are empty at first.
Status Container::BeginChild(const ContainerPlan& plan, const ContainerBegin& begin) {
  STOKER_TRY(CheckForApptainer(plan.spec));
  const std::string scratch = ApptainerScratch(plan);
  STOKER_TRY(sys::RemoveTree(scratch));
  for (const char* folder : {kOverlay, kTemporary}) {
    STOKER_TRY(sys::MakeDirs(scratch + "/" + folder, 0700));
  }
  STOKER_ASSIGN(child_, EngineChild::Start(RunArgv(engine_, plan), plan.socket_dir));
  const Status accepted = Accept(begin.stopped);
  child_->NoteHelpers(plan.owner);
  if (!accepted.ok()) {
    const auto code = child_->Ended();
    listener_.Reset();  // nobody waits for it
    child_->End(kEndChildMs);
    if (!code) return accepted;
    return EngineFailure(engine_, "start a container of " + plan.image, *code, child_->Said());
  }
  return HoldTo(limiter_ == nullptr ? "" : limiter_->MakeGroup());
}

// An engine that holds no limits leaves the container where its client is.
Status Container::HoldTo(const std::string& group) {
  if (group.empty()) {
    kept_to_ = MemoryGroupOf(first_);
    return Status::Ok();
  }
  kept_to_ = group_ = group;
  STOKER_ASSIGN(const sys::ScopedFd procs, sys::Open(group + "/cgroup.procs", O_WRONLY));
  return sys::WriteAll(procs.get(), std::to_string(first_), group);
}

Container::~Container() {
  if (!asked_to_remove_) (void)Remove(kRemoveWithinMs);
}

Status Container::Remove(int64_t within_ms) {
  Release();
  asked_to_remove_ = true;
  if (child_) child_->End(within_ms);
  if (!group_.empty()) (void)EndCgroup(group_, Duration::Ms(within_ms));
  const Status gone = RemoveContainers(engine_, owner_, within_ms);
  if (gone.ok() && !child_) (void)sys::RemoveTree(owner_ + kContainerFolder);
  return gone;
}

// By the folder's descriptor: a path of a socket may have 107 bytes alone.
Status Container::Listen(const std::string& folder) {
  STOKER_ASSIGN(const sys::ScopedFd in, sys::Open(folder, O_PATH | O_DIRECTORY));
  const std::string path = "/proc/self/fd/" + std::to_string(in.get()) + "/socket";
  unlink(path.c_str());
  listener_.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (!listener_.valid() ||
      bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_.get(), 1) != 0) {
    return ErrnoStatus("making a socket in " + folder, errno);
  }
  return Status::Ok();
}

Status Container::Accept(const sys::Stopped& stopped) {
  const Status silent(Code::kTimeout,
                      TellEngine(engine_) +
                          " started the container, but its first process does "
                          "not answer",
                      "It may not run stoker's program, or not reach " + owner_ +
                          ": see what SELinux or AppArmor have to say");
  bool called = false;
  for (int waited = 0; !called && waited < kHelloMs; waited += kGlanceMs) {
    called = Await(listener_.get(), kGlanceMs);
    if (stopped && stopped()) return Status(Code::kCancelled, "stopped while its container began");
    if (!called && child_ && child_->Ended()) break;
  }
  if (!called) return silent;
  life_.Reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  listener_.Reset();
  ucred peer{};
  socklen_t size = sizeof peer;
  if (!life_.valid() || getsockopt(life_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return ErrnoStatus("accepting the container", errno);
  }
  first_ = peer.pid;
  uid_ = peer.uid;
  gid_ = peer.gid;
  const timeval limit{kAnswerMs / 1000, 0};
  setsockopt(life_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ContainerHello hello{};
  if (!ReadWhole(life_.get(), reinterpret_cast<char*>(&hello), sizeof hello)) return silent;
  if (hello.size > kMostImageVariables) return silent;
  std::string text(hello.size, '\0');
  if (!ReadWhole(life_.get(), text.data(), text.size())) return silent;
  for (const std::string& entry : Split(text, '\0')) {
    const size_t sign = entry.find('=');
    if (sign == std::string::npos || sign == 0) continue;
    variables_.emplace_back(entry.substr(0, sign), entry.substr(sign + 1));
  }
  return Status::Ok();
}

// In place: the container has the file itself mounted, and not its name.
Status Container::TakeHosts(const TaskHost& host) {
  if (host.name.empty() || hosts_file_.empty()) return Status::Ok();
  STOKER_ASSIGN(const std::string text, sys::ReadFile(host.hosts_file, 1 << 20));
  STOKER_ASSIGN(const sys::ScopedFd file, sys::Open(hosts_file_, O_WRONLY | O_TRUNC));
  return sys::WriteAll(file.get(), text, hosts_file_);
}

void Container::Release() {
  const std::lock_guard lock(mutex_);
  life_.Reset();
}

Status Container::Send(char kind, const int (&fds)[kPayloadFd + 1]) {
  const std::lock_guard lock(mutex_);
  return SendTask(life_.get(), kind, fds) ? Status::Ok() : HasEnded();
}

Result<std::unique_ptr<Task>> Container::Start(const TaskCommand& command, LogSink& sink) {
  STOKER_TRY(CheckCommand(command));
  STOKER_TRY(TakeHosts(command.host));
  return StartTask(kContainerTask, command, sink);
}

Result<std::unique_ptr<Task>> Container::StartBeside(const TaskCommand& command, LogSink& sink) {
  STOKER_TRY(CheckCommand(command));
  return StartTask(kContainerBeside, command, sink);
}

Result<std::unique_ptr<Task>> Container::StartTask(char kind, const TaskCommand& command,
                                                   LogSink& sink) {
  TaskPayload payload = PayloadOf(command);
  payload.mechanism = TaskMechanism::kContainer;
  STOKER_ASSIGN(TaskLine line, OpenTaskLine(payload));
  StartedTask task;
  task.mechanism = TaskMechanism::kContainer;
  task.shim = first_;
  task.kept_to = kept_to_;
  task.limiter = limiter_;
  task.oom = std::make_unique<OomWatch>(kept_to_, false);
  task.out_stream = command.out;
  task.err_stream = command.err;
  const bool beside = kind == kContainerBeside;
  const int on = 1;
  if (beside) setsockopt(line.control(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  STOKER_TRY(Send(kind, line.theirs));
  line.HandOver(&task);
  if (beside) {
    task.shim = MeetShim(task.control.get());
    if (task.shim == 0) return HasEnded();
    beside_->Add(task.shim);
    if (send(task.control.get(), &kContainerGo, 1, MSG_NOSIGNAL) != 1) return HasEnded();
  } else {
    task.beside = beside_;
  }
  TaskMessage message{};
  if (!Await(task.status.get()) ||
      read(task.status.get(), &message, sizeof message) != sizeof message) {
    return HasEnded();
  }
  if (message.kind != TaskMessage::kStarted) return StartFailure(message, payload);
  task.has_host_name = message.stage == 1;
  return std::unique_ptr<Task>(std::make_unique<RunningTask>(std::move(task), sink));
}

}  // namespace stoker
