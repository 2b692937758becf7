// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_machine.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "provider/agent/agent_keeper.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_capacity.h"
#include "provider/local/local_give_way.h"
#include "provider/local/local_state.h"
#include "provider/local/local_turns.h"
#include "sys/container/engine_notes.h"
#include "sys/container/groups_left.h"
#include "sys/descriptors.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "sys/task/process_table.h"

namespace stoker {
namespace {

constexpr int kReadyFd = 3;  // the launcher's pipe
// What the machine was granted (local_queue_folder.h) is its for as long as this is open.
constexpr int kGrantFd = 4;
// The same for all: whoever has it bound has the address. Nobody listens there.
constexpr uint16_t kAddressPort = 47'925;
constexpr int64_t kTickMs = 10'000;
constexpr int64_t kBlindTickMs = 100;    // where the folder cannot be watched
constexpr int64_t kShutdownMs = 20'000;  // systemd gives a user's services 90 s
constexpr int64_t kAfterSleepMs = 30'000;
constexpr int64_t kForgetMs = 30'000;
constexpr int64_t kMaxLogBytes = 8 << 20;
constexpr Duration kGiveWayLead = Duration::Seconds(5);  // nothing has begun

void BoundLog(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && info.st_size > kMaxLogBytes) {
    (void)!truncate(path.c_str(), 0);  // its writers append
  }
}

class LocalMachine {
 public:
  explicit LocalMachine(const std::string& dir)
      : dir_(dir), state_(LocalState::Of(dir)), token_(LocalState::TokenOf(dir)) {}

  int Run() {
    const Status status = Begin();
    if (!status.ok()) {
      if (!status.Is(Code::kBusy)) Say(status.ToString());
      return 1;
    }
    while (why_.empty()) Step();
    return PowerOff();
  }

 private:
  Status Begin();
  Status TakeAddress();
  AgentConfig ConfigOfAgent() const;
  void Step();
  int64_t NextWake(int64_t now) const;
  bool SeesNews();
  void ReadFolder();
  void CheckDeadlines();
  void GiveWay();
  void LetNextBegin();
  int PowerOff();

  void Log(const std::string& line) const {
    std::fprintf(stderr, "%s %s\n", FormatRfc3339(clock_.Wall()).c_str(), line.c_str());
  }
  // To the launcher, once.
  void Say(std::string_view text) {
    if (ready_) (void)sys::WriteAll(kReadyFd, text, "the launcher's pipe");
    if (ready_) close(kReadyFd);
    ready_ = false;
  }

  mutable RealClock clock_;
  const std::string dir_;
  const LocalState state_;
  const std::string token_;
  LocalBoot boot_;
  sys::ScopedFd lock_, signals_, watch_;
  std::string address_;
  sys::ScopedFd address_held_;
  bool ready_ = true;
  std::optional<LocalQueueFolder> queue_;

  std::optional<AgentKeeper> agent_;
  int64_t read_at_ = 0;  // its folder; all times are BootMs
  bool leaves_ = false;  // the agent, as the folder says
  int64_t lease_at_ = 0;
  WallTime lease_;  // what lease_at_ was computed from
  bool slept_ = false;
  std::optional<Notice> notice_;
  int64_t notice_at_ = 0;
  int64_t gathers_since_ = 0;  // 0 = it does not
  std::string gave_way_;
  int64_t shutdown_at_ = 0;  // 0 = not asked to
  std::string why_;          // set = power off
};

Status LocalMachine::Begin() {
  auto lock = TakeLock(dir_);
  // Someone who only looks at the instance may hold it for a moment.
  for (int i = 0; i < 10 && lock.code() == Code::kBusy; ++i, usleep(1000)) lock = TakeLock(dir_);
  if (!lock.ok()) return lock.status();
  lock_ = std::move(*lock);
  if (state_.Ended(token_) || sys::FileExists(dir_ + "/machine.json")) {
    return Status(Code::kBusy, "it has lived already");
  }
  STOKER_ASSIGN(boot_, ReadLocalBoot(dir_));
  STOKER_ASSIGN(lease_, ReadLocalLease(dir_));
  lease_at_ = BootMs() + (lease_ - clock_.Wall()).ms;

  if (const auto host = state_.HostId(); host.ok()) queue_ = OpenLocalQueue(state_, *host);

  STOKER_ASSIGN(signals_, TakeMachineSignals());
  watch_.Reset(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (watch_.valid() && inotify_add_watch(watch_.get(), dir_.c_str(),
                                          IN_MOVED_TO | IN_DELETE | IN_CREATE | IN_MOVE_SELF |
                                              IN_DELETE_SELF | IN_ONLYDIR) < 0) {
    watch_.Reset();
  }
  STOKER_TRY(TakeAddress());
  STOKER_TRY(WriteLocalMachineInfo(dir_, {getpid(), address_, clock_.Wall()}));
  agent_.emplace(ConfigOfAgent(), [this](const std::string& line) { Log(line); });
  agent_->Start();
  Say("R");
  ReadFolder();
  return Status::Ok();
}

// An address in 127.64.0.0/10 that no other instance has; the lower 64 belong to the machine
// itself.
Status LocalMachine::TakeAddress() {
  Status last;
  for (int i = 0; i < 32; ++i) {
    const uint64_t random = sys::RandomU64();
    const std::string address = "127." + std::to_string(64 + random % 64) + "." +
                                std::to_string((random >> 8) % 256) + "." +
                                std::to_string(1 + (random >> 16) % 254);
    address_held_.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!address_held_.valid()) return ErrnoStatus("making a socket", errno);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    // Somebody may have that port on all addresses; then chance alone must do.
    to.sin_port = htons(i < 16 ? kAddressPort : 0);
    inet_pton(AF_INET, address.c_str(), &to.sin_addr);
    if (bind(address_held_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
      address_ = address;
      return Status::Ok();
    }
    last = ErrnoStatus("binding " + address, errno);
  }
  return last.WithContext("taking an address of its own");
}

AgentConfig LocalMachine::ConfigOfAgent() const {
  AgentConfig facts;
  facts.dir = dir_;
  facts.argv = boot_.agent_argv;
  facts.program = facts.argv.empty() ? "" : facts.argv[0];
  facts.log = LocalAgentLog(dir_);
  return facts;
}

void LocalMachine::Step() {
  pollfd fds[2] = {{signals_.get(), POLLIN, 0}, {watch_.get(), POLLIN, 0}};
  const int64_t before = BootMs();
  const int64_t wait = NextWake(before) - before;
  poll(fds, 2, static_cast<int>(std::clamp<int64_t>(wait, 0, kTickMs)));
  // Far over time: the machine slept, and the agent had no chance to renew anything.
  slept_ = BootMs() - before > kTickMs + kAfterSleepMs;
  bool news = !watch_.valid() || leaves_ || BootMs() - read_at_ >= kTickMs;
  signalfd_siginfo info;
  while (signals_.valid() && read(signals_.get(), &info, sizeof info) == sizeof info) {
    news = true;
    if (info.ssi_signo != SIGTERM || shutdown_at_ != 0) continue;
    Log("asked to shut down");
    shutdown_at_ = BootMs() + kShutdownMs;
    agent_->Signal(SIGTERM);
  }
  if (const std::string off = agent_->Reap(); !off.empty()) why_ = off;
  news = SeesNews() || news;
  if (news) ReadFolder();
  GiveWay();
  CheckDeadlines();
  if (!why_.empty()) return;
  if (shutdown_at_ == 0) return agent_->Restart();
  if (agent_->pid() == 0 && BootMs() >= agent_->restart_at()) why_ = "the host shut down";
}

// Whether something has happened in the folder that ReadFolder reads. The agent makes its own files
// beside, most of them just when its program is to begin.
bool LocalMachine::SeesNews() {
  constexpr std::string_view kRead[] = {"boot.json", "lease.json", "notice.json", "gathers", "why"};
  bool news = false;
  alignas(inotify_event) char events[4096];
  for (ssize_t got = 0; watch_.valid() && (got = read(watch_.get(), events, sizeof events)) > 0;) {
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(events + at);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      // Without a name: of the folder itself, or more than the kernel kept.
      news = news || event->len == 0 ||
             std::find(std::begin(kRead), std::end(kRead), event->name) != std::end(kRead);
    }
  }
  return news;
}

int64_t LocalMachine::NextWake(int64_t now) const {
  int64_t at = watch_.valid() ? std::max(now, read_at_ + kTickMs) : now + kBlindTickMs;
  at = std::min(at, lease_at_);
  if (notice_) at = std::min(at, notice_at_);
  if (shutdown_at_ != 0) at = std::min(at, shutdown_at_);
  if (agent_->pid() == 0) at = std::min(at, agent_->restart_at());
  return at;
}

void LocalMachine::ReadFolder() {
  read_at_ = BootMs();
  if (!sys::FileExists(dir_ + "/boot.json")) {
    why_ = "its folder was removed";
    return;
  }
  if (const auto lease = ReadLocalLease(dir_); lease.ok() && *lease != lease_) {
    lease_ = *lease;
    lease_at_ = BootMs() + (lease_ - clock_.Wall()).ms;
  }
  const auto notice = ReadLocalNotice(dir_);
  if (notice.ok() && *notice != notice_) {
    notice_ = *notice;
    if (notice_) notice_at_ = BootMs() + (notice_->until - clock_.Wall()).ms;
    Log(notice_ ? "notice: taken at " + FormatRfc3339(notice_->until) : "notice withdrawn");
  }
  const bool gathers = boot_.apart && sys::FileExists(LocalGathers(dir_));
  gathers_since_ = !gathers ? 0 : gathers_since_ != 0 ? gathers_since_ : BootMs();
  BoundLog(LocalAgentLog(dir_));
  BoundLog(LocalMachineLog(dir_));
  if (queue_) queue_->Touch(token_);
  leaves_ = agent_->pid() != 0 && HasLocalReason(dir_);
  if (leaves_) LetNextBegin();
}

// The agent has done all that it had to, and leaves: of what this machine was granted nothing is
// used any more, unless a process of the program was left.
void LocalMachine::LetNextBegin() {
  if (!queue_) return;
  for (const pid_t pid : MarkedProcesses(kInstanceMark, dir_)) {
    if (pid != agent_->pid()) return;
  }
  queue_->End(token_);
  queue_.reset();
}

void LocalMachine::GiveWay() {
  if (gathers_since_ == 0 || notice_ || !queue_) return;
  if (BootMs() - gathers_since_ < kGatherFor.ms) return;
  const std::string to = GivesWayTo(CountCapacity(), queue_->Read(), token_, clock_.Wall());
  if (to.empty()) return;
  gave_way_ = "gave its place to " + to +
              ", which comes first: another node of its own job had no "
              "place within " +
              HumanDuration(kGatherFor);
  Log(gave_way_);
  if (const Status parted = queue_->Part(token_); !parted.ok()) return Log(parted.ToString());
  const Status given = GiveLocalNotice(dir_, {"terminate", clock_.Wall() + kGiveWayLead});
  if (!given.ok()) Log(given.ToString());
  ReadFolder();
}

void LocalMachine::CheckDeadlines() {
  const int64_t now = BootMs();
  if (slept_ && now >= lease_at_) lease_at_ = now + kAfterSleepMs;
  if (!why_.empty()) return;
  if (notice_ && now >= notice_at_)
    why_ = gave_way_.empty() ? "interrupted" : gave_way_;
  else if (now >= lease_at_)
    why_ = "its lease ran out at " + FormatRfc3339(lease_);
  else if (shutdown_at_ != 0 && now >= shutdown_at_)
    why_ = "the host shut down";
}

int LocalMachine::PowerOff() {
  Log("power off: " + why_);
  Status status = state_.MarkEnded(token_, why_);
  if (!status.ok()) Log(status.ToString());
  const bool gone = agent_->End();
  if (gone && queue_) queue_->End(token_);
  if (!gone) {
    Log("some processes cannot be ended; the folder stays for a later sweep");
    return 1;
  }
  const Status forgotten = ForgetContainers(state_.root(), dir_, kForgetMs);
  if (!forgotten.ok()) Log(forgotten.ToString());
  if (shutdown_at_ != 0) EndPauseHere();
  status = state_.RemoveDir(token_);
  if (!status.ok()) Log(status.ToString());
  return status.ok() ? 0 : 1;
}

}  // namespace

int LocalMachineMain(const std::string& dir) {
  // The launcher waits for this process; the instance goes on in a child that no one waits for.
  const pid_t pid = fork();
  if (pid < 0) {
    (void)sys::WriteAll(kReadyFd, ErrnoStatus("making a process", errno).message(), "pipe");
    return 1;
  }
  if (pid > 0) _exit(0);
  CloseFrom(kGrantFd + 1);
  fcntl(kReadyFd, F_SETFD, FD_CLOEXEC);
  fcntl(kGrantFd, F_SETFD, FD_CLOEXEC);
  (void)!chdir("/");
  return LocalMachine(dir).Run();
}

}  // namespace stoker
