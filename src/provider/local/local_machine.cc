// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_machine.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "net/http_server.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_capacity.h"
#include "provider/local/local_give_way.h"
#include "provider/local/local_metadata.h"
#include "provider/local/local_state.h"
#include "provider/local/local_turns.h"
#include "sys/child_process.h"
#include "sys/descriptors.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "sys/task/process_table.h"

extern char** environ;

namespace stoker {
namespace {

constexpr int kReadyFd = 3;  // the launcher's pipe
// What the machine was granted (local_queue_folder.h) is its for as long as this is open.
constexpr int kGrantFd = 4;
constexpr int kMetadataPort =
    47'925;  // the same for all: binding it proves that the address is free
constexpr int64_t kTickMs = 10'000;
constexpr int64_t kBlindTickMs = 100;  // where the folder cannot be watched
constexpr int64_t kFirstBackoffMs = 25;
constexpr int64_t kLastBackoffMs = 2'000;
constexpr int64_t kHealthyMs = 10'000;
constexpr int64_t kShutdownMs = 20'000;  // systemd gives a user's services 90 s
constexpr int64_t kAfterSleepMs = 30'000;
constexpr int64_t kMaxLogBytes = 8 << 20;
constexpr Duration kGiveWayLead = Duration::Seconds(5);  // nothing has begun
constexpr Duration kShimPatience = Duration::Seconds(2);
constexpr Duration kEndLimit = Duration::Seconds(15);

// Goes on while the machine sleeps, and is not moved when somebody sets the date.
int64_t BootMs() {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
}

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
  Status Serve();
  void StartAgent();
  void Step();
  int64_t NextWake(int64_t now) const;
  bool SeesNews();
  void ReadFolder();
  void CheckDeadlines();
  void GiveWay();
  void LetNextBegin();
  void ReapAgent();
  void CleanUpAfterAgent();
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
  std::unique_ptr<LocalMetadata> metadata_;
  std::unique_ptr<HttpServer> server_;
  bool ready_ = true;
  std::optional<LocalQueueFolder> queue_;

  pid_t agent_ = 0;          // 0 = none runs
  bool dirty_ = false;       // processes of a dead agent may be left
  int64_t agent_since_ = 0;  // all times are BootMs
  int64_t backoff_ = kFirstBackoffMs;
  int64_t restart_at_ = 0;
  int64_t read_at_ = 0;  // its folder
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

  sigset_t set;
  sigemptyset(&set);
  for (const int signo : {SIGCHLD, SIGTERM}) sigaddset(&set, signo);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before there is any thread
  for (const int signo : {SIGHUP, SIGINT, SIGPIPE, SIGQUIT}) signal(signo, SIG_IGN);
  signals_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return ErrnoStatus("making a signal descriptor", errno);
  watch_.Reset(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (watch_.valid() && inotify_add_watch(watch_.get(), dir_.c_str(),
                                          IN_MOVED_TO | IN_DELETE | IN_CREATE | IN_MOVE_SELF |
                                              IN_DELETE_SELF | IN_ONLYDIR) < 0) {
    watch_.Reset();
  }
  STOKER_TRY(Serve());
  STOKER_TRY(WriteLocalMachineInfo(dir_, {getpid(), address_, server_->port(), clock_.Wall()}));
  StartAgent();
  Say("R");
  ReadFolder();
  return Status::Ok();
}

// An address in 127.64.0.0/10 that no other instance has; the lower 64 belong to the machine
// itself.
Status LocalMachine::Serve() {
  Status last;
  for (int i = 0; i < 32; ++i) {
    const uint64_t random = sys::RandomU64();
    HttpServerOptions options;
    options.address = "127." + std::to_string(64 + random % 64) + "." +
                      std::to_string((random >> 8) % 256) + "." +
                      std::to_string(1 + (random >> 16) % 254);
    // Somebody may have that port on all addresses; then chance alone must do.
    options.port = i < 16 ? kMetadataPort : 0;
    options.max_body_bytes = 4096;
    options.max_connections = 16;
    // The handler runs from the moment the socket is bound.
    metadata_ = std::make_unique<LocalMetadata>(dir_, boot_, options.address, clock_);
    LocalMetadata* metadata = metadata_.get();
    auto server = HttpServer::Start(
        options, [metadata](const HttpRequest& request) { return metadata->Answer(request); });
    last = server.status();
    if (!server.ok()) continue;
    server_ = std::move(*server);
    address_ = options.address;
    return Status::Ok();
  }
  return last.WithContext("serving metadata");
}

void LocalMachine::StartAgent() {
  ChildCommand command;
  command.argv = boot_.agent_argv;
  command.program = command.argv.empty() ? "" : command.argv[0];
  command.cwd = dir_;
  for (char** entry = environ; *entry != nullptr; ++entry) command.env.emplace_back(*entry);
  command.env.push_back(std::string(kInstanceMark) + "=" + dir_);
  command.env.push_back(std::string(kMetadataVariable) + "=http://" + address_ + ":" +
                        std::to_string(server_->port()));
  command.die_with_thread = true;  // this is the main thread
  agent_since_ = BootMs();
  restart_at_ = 0;
  auto log = sys::Open(LocalAgentLog(dir_), O_WRONLY | O_CREAT | O_APPEND, 0600);
  auto null = sys::Open("/dev/null", O_RDWR);
  Status status = log.ok() ? null.status() : log.status();
  if (status.ok()) {
    command.fds = {null->get(), log->get(), log->get()};
    auto pid = SpawnChild(command);
    if (pid.ok()) agent_ = *pid;
    status = pid.status();
  }
  if (status.ok()) return;
  Log("the agent does not start: " + status.ToString());
  restart_at_ = BootMs() + backoff_;
  backoff_ = std::min(backoff_ * 2, kLastBackoffMs);
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
    if (agent_ != 0) kill(agent_, SIGTERM);
  }
  ReapAgent();
  news = SeesNews() || news;
  if (news) ReadFolder();
  GiveWay();
  CheckDeadlines();
  if (why_.empty() && agent_ == 0 && BootMs() >= restart_at_) {
    if (shutdown_at_ != 0) {
      why_ = "the host shut down";
      return;
    }
    CleanUpAfterAgent();
    if (!dirty_) StartAgent();
  }
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
  if (agent_ == 0) at = std::min(at, restart_at_);
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
  leaves_ = agent_ != 0 && HasLocalReason(dir_);
  if (leaves_) LetNextBegin();
}

// The agent has done all that it had to, and leaves: of what this machine was granted nothing is
// used any more, unless a process of the program was left.
void LocalMachine::LetNextBegin() {
  if (!queue_) return;
  for (const pid_t pid : MarkedProcesses(kInstanceMark, dir_)) {
    if (pid != agent_) return;
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

void LocalMachine::ReapAgent() {
  int status = 0;
  if (agent_ == 0 || waitpid(agent_, &status, WNOHANG) != agent_) return;
  agent_ = 0;
  dirty_ = true;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    const std::string said = ReadLocalReason(dir_);
    why_ = "the agent powered it off" + (said.empty() ? "" : ": " + said);
    return;
  }
  const int64_t now = BootMs();
  if (now - agent_since_ >= kHealthyMs) backoff_ = kFirstBackoffMs;
  restart_at_ = now + backoff_;
  backoff_ = std::min(backoff_ * 2, kLastBackoffMs);
  Log(WIFSIGNALED(status) ? "the agent died of signal " + std::to_string(WTERMSIG(status))
                          : "the agent failed with " + std::to_string(WEXITSTATUS(status)));
  CleanUpAfterAgent();  // within the back-off
}

// Nothing of a dead agent may run beside the next one.
void LocalMachine::CleanUpAfterAgent() {
  if (!dirty_) return;
  dirty_ = !EndMarkedProcesses(kInstanceMark, dir_, kShimPatience, kEndLimit);
  if (!dirty_) return;
  Log("processes of the dead agent cannot be ended; waiting for them");
  restart_at_ = BootMs() + 1000;
}

int LocalMachine::PowerOff() {
  Log("power off: " + why_);
  Status status = state_.MarkEnded(token_, why_);
  if (!status.ok()) Log(status.ToString());
  if (agent_ != 0) {
    kill(agent_, SIGKILL);
    while (waitpid(agent_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  const bool gone = EndMarkedProcesses(kInstanceMark, dir_, kShimPatience, kEndLimit);
  if (gone && queue_) queue_->End(token_);
  server_.reset();
  if (!gone) {
    Log("some processes cannot be ended; the folder stays for a later sweep");
    return 1;
  }
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
