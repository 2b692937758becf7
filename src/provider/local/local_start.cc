// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_start.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "provider/agent/detached.h"
#include "provider/local/local_boot.h"
#include "sys/child_process.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr Duration kStartLimit = Duration::Seconds(10);
constexpr Duration kDefaultLimit = Duration::Hours(24);
constexpr int64_t kMostEnvironment = 8 << 20;
// Agents of before ask who they are there: one of another machine's must not find its address.
constexpr char kOldMetadata[] = "STOKER_METADATA";

std::vector<std::string> EnvironmentOfThis() {
  return CleanEnvironment({kGrantedGpus, kOldMetadata});
}

std::string EnvironmentFile(const std::string& dir) { return dir + "/environ"; }

// What was kept, else that of this process.
std::vector<std::string> EnvironmentFor(const std::string& dir) {
  const auto kept = sys::ReadFile(EnvironmentFile(dir), kMostEnvironment);
  if (!kept.ok()) return EnvironmentOfThis();
  std::vector<std::string> out = Split(*kept, '\0');
  std::erase(out, "");
  return out;
}

bool WasStarted(const std::string& dir) { return sys::FileExists(dir + "/machine.json"); }

// The machine process says "R" when its agent runs, else why not; it says nothing when another one
// was first.
Status AwaitMachine(const sys::ScopedFd& ready, const LocalState& state, const std::string& id) {
  const std::string dir = state.Dir(id);
  pollfd p{ready.get(), POLLIN, 0};
  int n;
  while ((n = poll(&p, 1, static_cast<int>(kStartLimit.ms))) < 0 && errno == EINTR) {
  }
  if (n == 0) return Status(Code::kTimeout, dir + ": the machine process is slow to start");
  STOKER_ASSIGN(const std::string answer, sys::ReadAll(ready.get(), "the machine process"));
  if (answer == "R" || state.Ended(id) || WasStarted(dir)) return Status::Ok();
  if (!answer.empty()) return Status(Code::kUnavailable, Printable(answer));
  STOKER_ASSIGN(const pid_t holder, LockHolder(dir));
  if (holder != 0 || state.Ended(id) || WasStarted(dir)) return Status::Ok();
  return Status(Code::kUnavailable, dir + ": the machine process ended at once",
                "its last words are in " + LocalMachineLog(dir));
}

}  // namespace

Status KeepLocalEnvironment(const std::string& dir) {
  std::string text;
  for (const std::string& entry : EnvironmentOfThis()) text += entry + '\0';
  return sys::WriteFileAtomic(EnvironmentFile(dir), text, 0600, false);
}

Status StartLocalMachine(const LocalState& state, const LocalStart& start, Clock& clock) {
  const std::string dir = state.Dir(start.id);
  STOKER_ASSIGN(const LocalBoot boot, ReadLocalBoot(dir));
  const Duration limit = boot.request.limit.ms > 0 ? boot.request.limit : kDefaultLimit;
  STOKER_TRY(RenewLocalLease(dir, clock.Wall() + limit));
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return ErrnoStatus("making a pipe", errno);
  const sys::ScopedFd ready_read(ready[0]);
  sys::ScopedFd ready_write(ready[1]);
  STOKER_ASSIGN(const sys::ScopedFd null, sys::Open("/dev/null", O_RDWR));
  STOKER_ASSIGN(const sys::ScopedFd log,
                sys::Open(LocalMachineLog(dir), O_WRONLY | O_CREAT | O_APPEND, 0600));
  ChildCommand command;
  command.program = boot.binary;
  command.argv = {"stoker", kLocalMachineVerb, dir};
  command.env = EnvironmentFor(dir);
  if (!start.variable.empty()) command.env.push_back(start.variable);
  command.cwd = "/";
  command.fds = {null.get(), log.get(), log.get(), ready_write.get(), start.grant.get()};
  STOKER_TRY(StartDetached(command).WithContext("starting the machine process"));
  ready_write.Reset();
  STOKER_TRY(AwaitMachine(ready_read, state, start.id));
  (void)unlink(EnvironmentFile(dir).c_str());
  return Status::Ok();
}

Status StartLocalWaiter(const LocalState& state) {
  return StartDetachedSelf({"stoker", kLocalWaiterVerb, state.root()}, state.root() + "/waiter.log",
                           {kGrantedGpus})
      .WithContext("starting the process that waits for turns");
}

}  // namespace stoker
