// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_start.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "provider/local/local_boot.h"
#include "sys/child_process.h"
#include "sys/file.h"
#include "sys/task/process_table.h"

extern char** environ;

namespace stoker {
namespace {

constexpr Duration kStartLimit = Duration::Seconds(10);
constexpr Duration kDefaultLimit = Duration::Hours(24);
constexpr int64_t kMostEnvironment = 8 << 20;

// Ours, without what ties this process to an instance or a task.
std::vector<std::string> CleanEnvironment() {
  std::vector<std::string> out;
  const auto is = [](std::string_view entry, std::string_view name) {
    return StartsWith(entry, name) && entry.size() > name.size() && entry[name.size()] == '=';
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (is(*entry, kInstanceMark) || is(*entry, kTaskMark) || is(*entry, kMetadataVariable) ||
        is(*entry, kGrantedGpus)) {
      continue;
    }
    out.emplace_back(*entry);
  }
  return out;
}

std::string EnvironmentFile(const std::string& dir) { return dir + "/environ"; }

// What was kept, else that of this process.
std::vector<std::string> EnvironmentFor(const std::string& dir) {
  const auto kept = sys::ReadFile(EnvironmentFile(dir), kMostEnvironment);
  if (!kept.ok()) return CleanEnvironment();
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

// One that goes on in a child of its own, while the process that is started here ends.
Status StartDetached(const ChildCommand& command, const char* what) {
  auto pid = SpawnChild(command);
  if (!pid.ok()) return pid.status().WithContext("starting " + std::string(what));
  while (waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return Status::Ok();
}

}  // namespace

Status KeepLocalEnvironment(const std::string& dir) {
  std::string text;
  for (const std::string& entry : CleanEnvironment()) text += entry + '\0';
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
  STOKER_TRY(StartDetached(command, "the machine process"));
  ready_write.Reset();
  STOKER_TRY(AwaitMachine(ready_read, state, start.id));
  (void)unlink(EnvironmentFile(dir).c_str());
  return Status::Ok();
}

Status StartLocalWaiter(const LocalState& state) {
  STOKER_ASSIGN(const sys::ScopedFd null, sys::Open("/dev/null", O_RDWR));
  STOKER_ASSIGN(const sys::ScopedFd log,
                sys::Open(state.root() + "/waiter.log", O_WRONLY | O_CREAT | O_TRUNC, 0600));
  ChildCommand command;
  // This very program, also where its file has been replaced since.
  command.program = "/proc/self/exe";
  command.argv = {"stoker", kLocalWaiterVerb, state.root()};
  command.env = CleanEnvironment();
  command.cwd = "/";
  command.fds = {null.get(), log.get(), log.get()};
  return StartDetached(command, "the process that waits for turns");
}

}  // namespace stoker
