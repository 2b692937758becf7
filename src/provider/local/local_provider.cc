// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_provider.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>

#include "base/text.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_prospect.h"
#include "provider/local/local_start.h"
#include "provider/local/local_state.h"
#include "provider/local/local_turns.h"
#include "sys/container/engines.h"
#include "sys/file.h"
#include "sys/task/process_room.h"
#include "sys/task/process_table.h"

namespace stoker {
namespace {

// Processes and threads of machine, agent and shim, and some for the program.
constexpr int64_t kProcesses = 40;
constexpr Duration kYoung = Duration::Seconds(5);  // launched, but not started: may still come
constexpr Duration kSweepLimit = Duration::Seconds(15);
constexpr Duration kSweepPatience = Duration::Seconds(2);
// Begins the mark of one that its allocation took with it.
const std::string kWentWith = "it went with its allocation: ";
constexpr Duration kLeftoverAge = Duration::Seconds(60);

std::string OwnBinary() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : "/proc/self/exe";
}

class Local : public LocalProvider {
 public:
  Local(LocalProviderOptions options, LocalState state, std::string host, Clock& clock)
      : options_(std::move(options)),
        state_(std::move(state)),
        host_(std::move(host)),
        clock_(clock),
        turns_(state_, host_, clock) {
    traits_.name = "local";
    traits_.describe_is_immediate = true;
    traits_.appear_within = kYoung;
  }

  const ProviderTraits& traits() const override { return traits_; }
  const std::string& host() const override { return host_; }
  std::string LooksFor() const override {
    return options_.gate.has_left && options_.gate.has_left() ? "" : host_;
  }

  bool BeginNoMore() override { return !begins_no_more_.exchange(true); }

  LaunchAnswer Launch(const LaunchRequest& request) override {
    std::vector<std::string> ids = IdsOf(request);
    std::vector<size_t> missing;
    size_t over = 0;
    for (size_t index = 0; index < ids.size(); ++index) {
      if (!IsInstanceToken(request.token) || !IsInstanceToken(ids[index])) {
        return Refuse(RefusalClass::kInvalid, "not a launch token: " + Printable(request.token));
      }
      if (state_.Ended(ids[index])) {
        ++over;
      } else if (!sys::DirExists(state_.Dir(ids[index]))) {
        missing.push_back(index);
      }
    }
    // What was given once is never made whole again.
    if (over > 0 && over + missing.size() == ids.size()) return Over();
    if (over > 0) missing.clear();
    if (!missing.empty()) {
      if (begins_no_more_) {
        return Status(Code::kUnavailable,
                      "this computer shuts down, or ends what its user's login began",
                      "The next stoker command here begins the machine");
      }
      if (request.not_after.ms > 0 && clock_.Wall() > request.not_after) {
        return Refuse(RefusalClass::kOver, "the time to send this request is over");
      }
      if (missing.size() == ids.size()) {
        const std::string line = WhyNotNow(request);
        if (!line.empty()) return Refuse(RefusalClass::kCapacity, line);
      }
      LocalAllocation inside;
      if (options_.gate.admit) {
        auto admitted = options_.gate.admit(request);
        if (!admitted.ok()) return NoOf(admitted.status());
        inside = *admitted;
      }
      Status made = BinaryIsThere(request.binary_digest);
      if (made.ok()) made = RoomForProcesses();
      if (made.ok()) made = MakeFolders(request, ids, missing, inside);
      if (!made.ok()) return NoOf(made);
    }
    // One may have lived and ended since it was looked for; then its new folder is nobody's.
    for (const size_t index : missing) {
      if (state_.Ended(ids[index])) STOKER_TRY(state_.RemoveDir(ids[index]));
    }
    STOKER_TRY(EnterAll(&ids));
    const bool none =
        std::all_of(ids.begin(), ids.end(), [](const auto& id) { return id.empty(); });
    return none ? Over() : ids;
  }

  Result<InstancesSeen> Describe(const std::string& ledger_id, const std::string& job) override {
    InstancesSeen out;
    // Whoever was clearing a folder away may have died over it.
    state_.RemoveLeftovers(Duration::Seconds(2));
    for (const auto& [id, boot] : Boots()) {
      if (boot->request.ledger_id != ledger_id) continue;
      if (!job.empty() && boot->request.job != job) continue;
      STOKER_ASSIGN(InstanceSeen seen, Look(id, *boot));
      out.push_back(std::move(seen));
    }
    const bool any = std::any_of(out.begin(), out.end(), [](const InstanceSeen& seen) {
      return seen.state == InstanceState::kQueued;
    });
    // Whoever looks sees to it that the line moves on, whatever was killed.
    if (any && !turns_.HasWaiter()) (void)TakeTurns({}, false);
    return out;
  }

  Status Terminate(const std::string& id) override {
    if (!IsInstanceToken(id)) {
      return Status(Code::kInvalid, "not an instance: " + Printable(id));
    }
    return Remove(id, "terminated");
  }

  Status Halt(const std::string& id) override {
    if (!IsInstanceToken(id)) {
      return Status(Code::kInvalid, "not an instance: " + Printable(id));
    }
    if (!sys::DirExists(state_.Dir(id))) return Status::Ok();
    // Without a mark it is the lock that tells that it is over.
    (void)state_.MarkEnded(id, "ended on a full disk");
    return EndProcesses(state_.Dir(id));
  }

  Status Interrupt(const std::string& id, Duration lead) override {
    STOKER_ASSIGN(const std::string dir, LivingDir(id));
    return GiveLocalNotice(dir, {"terminate", clock_.Wall() + lead});
  }

  Status Withdraw(const std::string& id) override {
    STOKER_ASSIGN(const std::string dir, LivingDir(id));
    return WithdrawLocalNotice(dir);
  }

  Result<std::vector<std::string>> Leftovers() override {
    std::vector<std::string> out;
    for (const std::string& token : state_.Tokens()) {
      const auto boot = ReadLocalBoot(state_.Dir(token));
      auto seen = Look(token, boot.value_or(LocalBoot{}));
      if (!seen.ok()) return seen.status();
      if (seen->state == InstanceState::kGone) out.push_back(token);
    }
    return out;
  }

  Result<std::vector<std::string>> Sweep() override {
    STOKER_ASSIGN(std::vector<std::string> over, Leftovers());
    for (const std::string& token : over) STOKER_TRY(Remove(token, "over; removed by a sweep"));
    state_.RemoveLeftovers(kLeftoverAge);
    state_.ForgetOldMarks();
    return over;
  }

  std::string Shared() override { return TellLocalQueue(state_, host_); }

  Result<std::vector<PlaceInfo>> Places() override {
    std::vector<PlaceInfo> out{LocalShare(state_, host_)};
    out.front().engines = InstalledEngines();
    return out;
  }

  Result<size_t> Wait() override { return TakeTurns({}, true); }

 private:
  // Without this check it dies somewhere on its way, each time at another place.
  static Status RoomForProcesses() {
    const auto room = sys::TightProcessRoom();
    if (!room) return Status::Ok();
    const std::string limit = "this user may have " + std::to_string(room->limit) +
                              " processes and threads at once (ulimit -u)";
    const std::string needs =
        "a job needs " + std::to_string(kProcesses) + " for each of its nodes";
    if (room->limit < kProcesses) {
      return Status(Code::kInvalid, limit + ", and " + needs, "raise the limit");
    }
    if (room->limit - room->used < kProcesses) {
      return Status(Code::kNoSpace, limit + " and has " + std::to_string(room->used) + "; " + needs,
                    "end some of them, or raise the limit");
    }
    return Status::Ok();
  }

  static LaunchAnswer Over() {
    return Refuse(RefusalClass::kOver,
                  "the instance of this launch is over; it is not started again");
  }

  // "" = it may stand in line, or need not.
  std::string WhyNotNow(const LaunchRequest& request) const {
    const std::vector<std::string> words = Split(request.ask.options, ' ');
    if (std::find(words.begin(), words.end(), kNoWaiting) == words.end()) return "";
    const auto wants = ParseWants(request.ask.options);
    if (!wants.ok()) return "";  // said elsewhere
    std::string job = request.ledger_id + "/" + request.job;
    const int slot = request.slots.empty() ? 0 : request.slots.front();
    if (options_.apart) job += "/" + std::to_string(slot);
    return WhyInLine(state_, host_, job, *wants, clock_.Wall());
  }

  // Its scope is this machine: there is no other place of this provider.
  static LaunchAnswer Refuse(RefusalClass what, std::string message) {
    Refusal refusal;
    refusal.what = what;
    const bool passes = what == RefusalClass::kCapacity;
    refusal.scope = passes                          ? RefusalScope::kZone
                    : what == RefusalClass::kDenied ? RefusalScope::kAccount
                                                    : RefusalScope::kRequest;
    refusal.message = std::move(message);
    return refusal;
  }

  // What kept this process from making a machine. Where it is neither room nor rights, nobody knows
  // how far it got.
  static LaunchAnswer NoOf(const Status& status) {
    switch (status.code()) {
      case Code::kNoSpace:
        return Refuse(RefusalClass::kCapacity, status.ToString());
      case Code::kInvalid:
        return Refuse(RefusalClass::kInvalid, status.ToString());
      case Code::kDenied:
      case Code::kNotFound:  // the program that is to be the machine: another may have it
        return Refuse(RefusalClass::kDenied, status.ToString());
      default:
        return status;
    }
  }

  // By index. The first is called as its token, as the only one of a request is.
  static std::vector<std::string> IdsOf(const LaunchRequest& request) {
    std::vector<std::string> ids{request.token};
    for (size_t index = 1; index < request.launches.size(); ++index) {
      ids.push_back(request.token + "-" + std::to_string(index));
    }
    return ids;
  }

  // Those whose folders are there wait for their turn, which may have come; clears `ids` of those
  // that are over.
  Status EnterAll(std::vector<std::string>* ids) {
    bool any = false;
    for (std::string& id : *ids) {
      const std::string dir = state_.Dir(id);
      if (state_.Ended(id) || !sys::DirExists(dir)) {
        id.clear();
        continue;
      }
      STOKER_ASSIGN(const bool held, IsHeld(dir));
      if (held || WasStarted(dir)) continue;
      STOKER_ASSIGN(const LocalBoot boot, ReadLocalBoot(dir));
      STOKER_TRY(turns_.Enter(id, boot));
      any = true;
    }
    return any ? TakeTurns(*ids, false).status() : Status::Ok();
  }

  // Starts what may start. How many wait besides, or the first error of those in `ids`.
  Result<size_t> TakeTurns(const std::vector<std::string>& ids, bool retire) {
    if (begins_no_more_) return size_t{0};
    STOKER_ASSIGN(LocalTaken taken, turns_.Take(retire));
    Status failed;
    for (LocalStart& start : taken.starts) {
      const Status started = StartLocalMachine(state_, start, clock_);
      start.grant.Reset();
      if (started.ok()) continue;
      turns_.Leave(start.id);
      if (Contains(ids, start.id)) failed = started;
    }
    // Also beside an error: the others wait all the same.
    if (!retire && taken.waiting > 0 && !turns_.HasWaiter()) {
      const Status waits = StartLocalWaiter(state_);
      if (failed.ok()) failed = waits;
    }
    if (!failed.ok()) return failed;
    return taken.waiting + taken.starts.size();
  }

  static bool Contains(const std::vector<std::string>& ids, const std::string& id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }

  // By whomever, also where this process cannot see who.
  static Result<bool> IsHeld(const std::string& dir) {
    const auto holder = LockHolder(dir);
    if (holder.ok()) return *holder != 0;
    if (holder.code() == Code::kDenied) return true;
    return holder.status();
  }

  // Of every instance folder. A folder's boot file never changes, and every agent of this machine
  // asks many times a second, so that each file is read once.
  std::map<std::string, std::shared_ptr<const LocalBoot>> Boots() {
    std::map<std::string, std::shared_ptr<const LocalBoot>> now;
    const std::lock_guard lock(boots_mutex_);
    for (const std::string& token : state_.Tokens()) {
      if (const auto known = boots_.find(token); known != boots_.end()) {
        now.insert(*known);
        continue;
      }
      auto boot = ReadLocalBoot(state_.Dir(token));
      if (boot.ok()) now.emplace(token, std::make_shared<const LocalBoot>(std::move(*boot)));
    }
    boots_ = now;
    return now;
  }

  static bool WasStarted(const std::string& dir) { return sys::FileExists(dir + "/machine.json"); }

  Result<std::string> LivingDir(const std::string& id) {
    const Status none(Code::kNotFound, "instance " + Printable(id) + " does not run here");
    if (!IsInstanceToken(id) || state_.Ended(id)) return none;
    const std::string dir = state_.Dir(id);
    STOKER_ASSIGN(const pid_t holder, LockHolder(dir));
    if (holder == 0) return none;
    return dir;
  }

  std::string BinaryFor(const std::string& digest) const {
    if (IsInstanceToken(digest)) {
      const std::string kept = state_.root() + "/bin/" + digest + "/stoker";
      if (access(kept.c_str(), X_OK) == 0) return kept;
    }
    return options_.binary.empty() ? OwnBinary() : options_.binary;
  }

  // Before anything is made.
  Status BinaryIsThere(const std::string& digest) const {
    const std::string binary = BinaryFor(digest);
    if (access(binary.c_str(), X_OK) == 0) return Status::Ok();
    return ErrnoStatus("starting a machine with " + binary, errno);
  }

  // All or none: filled beside their places, which is where it fails if it does, then renamed.
  Status MakeFolders(const LaunchRequest& request, const std::vector<std::string>& ids,
                     const std::vector<size_t>& missing, const LocalAllocation& inside) {
    STOKER_TRY(sys::MakeDirs(state_.Instances(), 0700));
    std::vector<std::string> fresh;
    Status status;
    for (const size_t index : missing) {
      char name[40];
      std::snprintf(name, sizeof name, "/.new-%016llx",
                    static_cast<unsigned long long>(sys::RandomU64()));
      fresh.push_back(state_.Instances() + name);
      if (status.ok()) status = Fill(request, index, ids[index], fresh.back(), inside);
    }
    for (size_t i = 0; i < missing.size(); ++i) {
      const std::string dir = state_.Dir(ids[missing[i]]);
      // Only an empty folder is replaced by rename(2), and none of ours is ever empty.
      if (status.ok() && rename(fresh[i].c_str(), dir.c_str()) != 0 && errno != ENOTEMPTY &&
          errno != EEXIST) {
        status = ErrnoStatus("making " + dir, errno);
      }
      if (sys::DirExists(fresh[i])) (void)sys::RemoveTree(fresh[i]);
    }
    return status;
  }

  Status Fill(const LaunchRequest& request, size_t index, const std::string& id,
              const std::string& fresh, const LocalAllocation& inside) {
    LocalBoot boot;
    boot.request = request;
    boot.launch = index < request.launches.size() ? request.launches[index] : 0;
    boot.index = static_cast<int>(index);
    boot.slot = index < request.slots.size() ? request.slots[index] : boot.index;
    boot.instance_id = id;
    boot.binary = BinaryFor(request.binary_digest);
    boot.agent_argv = options_.agent_argv;
    if (boot.agent_argv.empty()) {
      boot.agent_argv = {boot.binary, kLocalAgentVerb, state_.Dir(id)};
    }
    boot.created = clock_.Wall();
    boot.boot_id = sys::BootId();
    boot.address = options_.address;
    boot.apart = options_.apart;
    boot.allocation = inside;
    STOKER_TRY(sys::MakeDirs(fresh, 0700));
    STOKER_TRY(KeepLocalEnvironment(fresh));
    return WriteLocalBoot(fresh, boot);
  }

  Result<InstanceSeen> Look(const std::string& token, const LocalBoot& boot) {
    const std::string dir = state_.Dir(token);
    InstanceSeen seen;
    seen.id = token;
    seen.token = boot.request.token;
    seen.index = boot.index;
    seen.ledger_id = boot.request.ledger_id;
    seen.job = boot.request.job;
    seen.launch = boot.launch;
    if (const auto lease = ReadLocalLease(dir); lease.ok()) seen.expires = *lease;
    if (const auto info = ReadLocalMachineInfo(dir); info.ok()) {
      seen.address = boot.address.empty() ? info->address : boot.address;
      seen.up_for = std::max(clock_.Wall() - info->started, Duration());
    }
    // The order matters: an end is marked before the lock is given back.
    STOKER_ASSIGN(const bool held, IsHeld(dir));
    const auto ended = state_.Ended(token);
    if (held) {
      seen.state = ended             ? InstanceState::kStopping
                   : WasStarted(dir) ? InstanceState::kRunning
                                     : InstanceState::kBooting;
      return seen;
    }
    if (!ended && !WasStarted(dir) && turns_.Waits(token)) {
      seen.state = InstanceState::kQueued;
      seen.why = turns_.Why(token);
      return seen;
    }
    if (!ended && !WasStarted(dir) && boot.boot_id == sys::BootId() &&
        clock_.Wall() - boot.created < kYoung && boot.created - clock_.Wall() < kYoung) {
      seen.state = InstanceState::kRequested;
      return seen;
    }
    return Bury(token, boot, std::move(seen));
  }

  // Under the lock, so that no start comes in between: nobody may start it any more. It is gone
  // once nothing of it runs.
  Result<InstanceSeen> Bury(const std::string& token, const LocalBoot& boot, InstanceSeen seen) {
    const std::string dir = state_.Dir(token);
    // A computer that is not the one that it ran on sees another boot, too: this comes first.
    std::string went_with;
    if (boot.allocation.job != 0 && options_.gate.went_with && !state_.Ended(token)) {
      auto asked = options_.gate.went_with(boot);
      if (!asked.ok()) {
        seen.state = InstanceState::kStopping;
        seen.why = "its machine process was killed; " + asked.status().message();
        return seen;
      }
      if (!asked->empty()) went_with = kWentWith + *asked;
    }
    const Status locked = WithLock(dir, [&]() -> Status {
      const auto ended = state_.Ended(token);
      if (ended)
        seen.why = *ended;
      else if (!went_with.empty())
        seen.why = went_with;
      else if (boot.boot_id != sys::BootId())
        seen.why = "the machine was rebooted";
      else if (WasStarted(dir))
        seen.why = "the machine process was killed";
      else
        seen.why = "the machine process never started";
      return ended ? Status::Ok() : state_.MarkEnded(token, seen.why);
    });
    if (locked.Is(Code::kBusy)) {  // it has just begun
      seen.state = InstanceState::kBooting;
      return seen;
    }
    if (locked.Is(Code::kNotFound)) {  // its folder was cleared away since it was listed
      seen.why = state_.Ended(token).value_or("removed");
    } else {
      STOKER_TRY(locked);
    }
    if (StartsWith(seen.why, kWentWith)) {
      seen.ended_by = boot.allocation.outlive ? EndedBy::kPlatform : EndedBy::kOwner;
    }
    const bool gone = EndMarkedProcesses(kInstanceMark, dir, Duration::Ms(50), Duration::Ms(500));
    EndNotedProcesses(dir);
    turns_.Leave(token);
    seen.state = gone ? InstanceState::kGone : InstanceState::kStopping;
    return seen;
  }

  Status Remove(const std::string& token, const std::string& why) {
    const std::string dir = state_.Dir(token);
    if (!sys::DirExists(dir)) return Status::Ok();
    STOKER_TRY(state_.MarkEnded(token, why));
    STOKER_TRY(EndProcesses(dir));
    turns_.Leave(token);
    return state_.RemoveDir(token);
  }

  static Status EndProcesses(const std::string& dir) {
    STOKER_TRY(KillHolder(dir));
    EndNotedProcesses(dir);
    if (EndMarkedProcesses(kInstanceMark, dir, kSweepPatience, kSweepLimit)) return Status::Ok();
    return Status(Code::kTimeout, dir + ": some of its processes cannot be ended",
                  "they hang in the kernel or belong to another user");
  }

  static Status KillHolder(const std::string& dir) {
    STOKER_ASSIGN(const pid_t pid, LockHolder(dir));
    if (pid == 0 || pid == getpid()) return Status::Ok();
    const sys::ScopedFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    // If the same pid holds the lock after the descriptor was taken, that is whom it means.
    STOKER_ASSIGN(const pid_t again, LockHolder(dir));
    if (again != pid) return again == 0 ? Status::Ok() : KillHolder(dir);
    // Linux before 5.3 has no pidfd; there the pid was right a moment ago.
    const long killed = process.valid()
                            ? syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0)
                            : kill(pid, SIGKILL);
    if (killed != 0 && errno != ESRCH) return ErrnoStatus("ending " + dir, errno);
    for (int64_t waited = 0; waited < kSweepLimit.ms * 1000; waited += 500) {
      STOKER_ASSIGN(const pid_t holder, LockHolder(dir));
      if (holder == 0) return Status::Ok();
      usleep(500);
    }
    return Status(Code::kTimeout, dir + ": the machine process does not end");
  }

  const LocalProviderOptions options_;
  const LocalState state_;
  const std::string host_;
  Clock& clock_;
  ProviderTraits traits_;
  LocalTurns turns_;
  std::atomic<bool> begins_no_more_{false};
  std::mutex boots_mutex_;
  std::map<std::string, std::shared_ptr<const LocalBoot>> boots_;  // by token
};

}  // namespace

Result<std::unique_ptr<LocalProvider>> MakeLocalProvider(const LocalProviderOptions& options,
                                                         Clock& clock) {
  if (options.state_dir.empty()) return Status(Code::kInvalid, "the state folder has no name");
  STOKER_TRY(sys::MakeDirs(options.state_dir, 0700));
  // One spelling, because processes are found by it.
  STOKER_ASSIGN(const std::string root, sys::RealPath(options.state_dir));
  const LocalState state(root);
  STOKER_ASSIGN(const std::string host, state.HostId());
  return std::unique_ptr<LocalProvider>(std::make_unique<Local>(options, state, host, clock));
}

}  // namespace stoker
