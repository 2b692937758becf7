// SPDX-License-Identifier: Apache-2.0
#include "sys/container/container_init.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "sys/file.h"
#include "sys/program_lookup.h"
#include "sys/task/process_table.h"
#include "sys/task/task_main.h"

extern char** environ;

namespace stoker {
namespace {

constexpr int kLifeFd = kPayloadFd + 1;  // the connection
constexpr int kSignalsFd = kLifeFd + 1;
constexpr int kEndSteps = 1000;
constexpr long kEndStepNs = 5'000'000;
constexpr char kSomeHome[] = "/tmp";

bool Connect(const char* path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (fd < 0 || std::strlen(path) >= sizeof address.sun_path) return false;
  std::strcpy(address.sun_path, path);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return false;
  // Above what a task's descriptors take, and never a program's.
  if (dup3(fd, kLifeFd, O_CLOEXEC) < 0) return false;
  close(fd);
  return true;
}

// A user that the image does not know has "/" for a home, which is not its own.
void FindHome() {
  const char* home = getenv("HOME");
  const bool good = home != nullptr && home[0] == '/' && home[1] != '\0' && access(home, W_OK) == 0;
  if (!good) setenv("HOME", kSomeHome, 1);
}

bool SayHello() {
  std::string text;
  for (char** entry = environ; *entry != nullptr; ++entry) text += std::string(*entry) + '\0';
  if (text.size() > kMostImageVariables) return false;
  const ContainerHello hello{static_cast<uint32_t>(text.size())};
  const std::string all = std::string(reinterpret_cast<const char*>(&hello), sizeof hello) + text;
  return sys::WriteAll(kLifeFd, all, "the owner").ok();
}

using TaskFds = int[kPayloadFd + 1];

// Takes the descriptors of the next task; its kind. 0: the owner is gone.
char TakeTask(TaskFds& fds) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  ssize_t n;
  while ((n = recvmsg(kLifeFd, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  const cmsghdr* head = n == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof fds)) {
    return 0;
  }
  std::memcpy(fds, CMSG_DATA(head), sizeof fds);
  return byte;
}

// They are higher than their places: all of these are open, be it on /dev/null.
void PutInPlace(const TaskFds& fds) {
  for (int i = 0; i <= kPayloadFd; ++i) {
    dup2(fds[i], i);
    close(fds[i]);
  }
}

// Lets go of the task's descriptors; the numbers stay taken.
void DropTask() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= kPayloadFd; ++fd) dup2(null, fd);
  if (null > kPayloadFd) close(null);
}

bool LookUp(TaskPayload& payload) {
  if (!payload.program.empty()) return true;
  std::string path;
  for (const std::string& entry : payload.env) {
    if (StartsWith(entry, "PATH=")) path = entry.substr(5);
  }
  auto found = FindProgram(payload.argv[0], path, payload.cwd);
  if (!found.ok()) {
    shim::Tell(TaskMessage::kStartFailed, found.status().Is(Code::kDenied) ? EACCES : ENOENT,
               kStageLookup);
    return false;
  }
  payload.program = std::move(*found);
  return true;
}

// 0: it did not start, and the owner knows why.
pid_t BeginTask() {
  TaskPayload payload;
  const auto bytes = sys::ReadAll(kPayloadFd, "payload", int64_t{1} << 30);
  if (!bytes.ok() || !DecodePayload(*bytes, payload)) {
    shim::Tell(TaskMessage::kStartFailed, EINVAL, kStagePayload);
    return 0;
  }
  if (!LookUp(payload)) return 0;
  const bool has_host_name = shim::IsCalled(payload.host_name);
  const pid_t main = shim::StartMain(payload, has_host_name);
  if (main == 0) return 0;
  dup2(0, 1);
  dup2(0, 2);
  shim::Tell(TaskMessage::kStarted, main, has_host_name ? 1 : 0);
  return main;
}

void Drain() {
  signalfd_siginfo info;
  while (read(kSignalsFd, &info, sizeof info) > 0) {
  }
}

void Pause() {
  const timespec pause{0, kEndStepNs};
  nanosleep(&pause, nullptr);
}

// The shim of a task beside others, in a process of its own: what it starts is its descendant, and
// of nobody else's to end.
int ServeBeside() {
  char byte = kContainerHere;
  if (send(kControlFd, &byte, 1, MSG_NOSIGNAL) != 1) return 1;
  if (read(kControlFd, &byte, 1) != 1 || byte != kContainerGo) return 1;
  const pid_t main = BeginTask();
  if (main == 0) return 1;
  pollfd fds[2] = {{kSignalsFd, POLLIN, 0}, {kControlFd, POLLIN, 0}};
  while (fds[1].revents == 0) {
    if (poll(fds, 2, -1) < 0) continue;
    if (fds[0].revents == 0) continue;
    Drain();
    shim::Reap(main);
  }
  while (shim::Reap(main)) {
    for (const ProcessStat& p : DescendantsOf(getpid(), ListProcesses())) kill(p.pid, SIGKILL);
    Pause();
  }
  return 0;
}

// What the first process looks after.
class FirstProcess {
 public:
  // Until the owner is gone, or something cannot be ended.
  int Serve() {
    for (;;) {
      pollfd fds[3] = {
          {kSignalsFd, POLLIN, 0}, {busy_ ? kControlFd : -1, POLLIN, 0}, {kLifeFd, POLLIN, 0}};
      if (poll(fds, 3, -1) < 0) continue;
      if (fds[0].revents != 0) {
        Drain();
        Reap();
      }
      if (fds[1].revents != 0 && !HearControl()) return 1;
      if (fds[2].revents != 0 && !BeginNext()) return 0;
    }
  }

 private:
  bool Reap() {
    return shim::Reap(busy_ ? main_ : kNobody, [this](pid_t ended) { besides_.erase(ended); });
  }

  // False: the owner is gone, or asks for what is not to be.
  bool BeginNext() {
    TaskFds fds;
    const char kind = TakeTask(fds);
    if (kind == kContainerBeside) {
      BeginBeside(fds);
      return true;
    }
    if (kind != kContainerTask || busy_) return false;
    PutInPlace(fds);
    main_ = BeginTask();
    busy_ = main_ != 0;
    if (!busy_) DropTask();
    return true;
  }

  void BeginBeside(const TaskFds& fds) {
    const pid_t child = fork();
    if (child == 0) {
      PutInPlace(fds);
      dup2(0, kLifeFd);
      prctl(PR_SET_CHILD_SUBREAPER, 1);
      const int signals = shim::ArrangeSignals();
      if (signals < 0 || dup3(signals, kSignalsFd, O_CLOEXEC) < 0) _exit(1);
      _exit(ServeBeside());
    }
    if (child > 0) besides_.insert(child);
    for (const int fd : fds) close(fd);
  }

  // False: something cannot be ended.
  bool HearControl() {
    char byte;
    const ssize_t n = read(kControlFd, &byte, 1);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (!EndAll()) return false;
    busy_ = false;
    DropTask();
    return true;
  }

  // Every process of the container but this one and what belongs to tasks beside; also what forks
  // meanwhile. False: one stays, as it hangs in the kernel.
  bool EndAll() {
    for (int i = 0; i < kEndSteps; ++i) {
      bool any = true;
      if (besides_.empty()) {
        kill(-1, SIGKILL);
      } else {
        any = KillAllButBesides();
      }
      if (!Reap() || !any) return true;
      Pause();
    }
    return false;
  }

  // False: there is none.
  bool KillAllButBesides() {
    const std::vector<ProcessStat> all = ListProcesses();
    std::set<pid_t> spared = besides_;
    spared.insert(getpid());
    for (const pid_t beside : besides_) {
      for (const ProcessStat& p : DescendantsOf(beside, all)) spared.insert(p.pid);
    }
    bool any = false;
    for (const ProcessStat& p : all) {
      if (p.ended() || spared.count(p.pid) > 0) continue;
      any = true;
      kill(p.pid, SIGKILL);
    }
    return any;
  }

  static constexpr pid_t kNobody = INT_MIN;
  bool busy_ = false;  // a task runs
  pid_t main_ = 0;     // its program
  std::set<pid_t> besides_;
};

}  // namespace

int ContainerInitMain(const char* socket) {
  // Elsewhere the end of a task would be that of everything that this user may signal.
  if (getpid() != 1) {
    std::fprintf(stderr, "stoker: __container is the first process of a container alone\n");
    return 1;
  }
  // Until a task has them, the numbers of its descriptors are nobody else's.
  for (int fd = 0; fd <= kSignalsFd; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd) return 1;
  }
  const int signals = shim::ArrangeSignals();
  if (signals < 0 || dup3(signals, kSignalsFd, O_CLOEXEC) < 0) return 1;
  close(signals);
  if (!Connect(socket)) {
    std::fprintf(stderr, "stoker: no owner answers at %s: %s\n", socket, std::strerror(errno));
    return 1;
  }
  FindHome();
  if (!SayHello()) return 1;
  DropTask();
  return FirstProcess().Serve();
}

}  // namespace stoker
