// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_provider.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "base/text.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_platform.h"
#include "provider/local/local_state.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "sys/task/process_table.h"

namespace stoker {
namespace {

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool Until(const std::function<bool()>& true_soon, int64_t limit_ms = 8000) {
  const int64_t end = NowMs() + limit_ms;
  while (!true_soon()) {
    if (NowMs() > end) return false;
    usleep(3000);
  }
  return true;
}

class LocalProviderTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TEST_BEATS", Beats().c_str(), 1);
    // A machine of its own, with room for all at once.
    setenv("STOKER_QUEUE", (dir_.path() + "/queue").c_str(), 1);
    setenv("STOKER_CAPACITY", "cpus=256 memory=0", 1);
    ASSERT_TRUE(sys::MakeDirs(Beats()).ok());
    Use("pidns");
  }
  void TearDown() override {
    for (const std::string& token : tokens_) EXPECT_TRUE(provider_->Terminate(token).ok());
    EXPECT_EQ(Beating(), 0);
    EXPECT_TRUE(provider_->Describe("ledger", "")->empty());
    for (const sys::DirEntry& entry : sys::ListDir(State() + "/instances").value_or({})) {
      ADD_FAILURE() << entry.name << " was left";
    }
  }

  void Use(const std::string& mode) {
    mode_ = mode;
    auto provider =
        MakeLocalProvider({State(), "", {"/proc/self/exe", "__fake", mode, "/"}}, clock_);
    ASSERT_TRUE(provider.ok()) << provider.status().ToString();
    provider_ = std::move(*provider);
  }
  LaunchRequest Request(const std::string& token) {
    tokens_.insert(token);
    LaunchRequest request;
    request.token = token;
    request.ledger_id = "ledger";
    request.job = "job";
    request.launches = {3};
    request.limit = Duration::Minutes(5);
    return request;
  }
  void Launch(const std::string& token = "t1") {
    const auto ids = provider_->Launch(Request(token));
    ASSERT_TRUE(ids.ok()) << ids.status().ToString();
    EXPECT_EQ(*ids, std::vector<std::string>{token});
  }
  std::optional<InstanceSeen> See(const std::string& token = "t1") {
    auto all = provider_->Describe("ledger", "job");
    EXPECT_TRUE(all.ok()) << all.status().ToString();
    if (!all.ok()) return std::nullopt;
    for (const InstanceSeen& seen : *all) {
      if (seen.id == token) return seen;
    }
    return std::nullopt;
  }
  bool IsGone(const std::string& token = "t1") {
    const auto seen = See(token);
    return !seen || seen->state == InstanceState::kGone;
  }
  std::string State() const { return dir_.path() + "/state"; }
  std::string Beats() const { return dir_.path() + "/beats"; }
  std::string Dir(const std::string& token = "t1") const {
    return sys::RealPath(State()).value() + "/instances/" + token;
  }
  std::vector<std::string> Files(const std::string& prefix) {
    std::vector<std::string> out;
    const auto entries = sys::ListDir(Beats()).value();
    for (const sys::DirEntry& entry : entries) {
      if (StartsWith(entry.name, prefix)) out.push_back(entry.name);
    }
    return out;
  }
  // Heartbeats of agents and tasks that still change.
  int Beating(int64_t over_ms = 150) {
    std::map<std::string, std::string> before;
    for (const char* kind : {"agent-", "task-"}) {
      for (const std::string& f : Files(kind)) {
        before[f] = sys::ReadFile(Beats() + "/" + f).value_or("");
      }
    }
    poll(nullptr, 0, static_cast<int>(over_ms));
    int out = 0;
    for (const auto& [f, content] : before) {
      out += sys::ReadFile(Beats() + "/" + f).value_or("") != content;
    }
    return out;
  }
  pid_t Agent() { return std::atoi(Files("agent-").back().c_str() + 6); }
  // The newest agent and its task both beat.
  bool Runs() { return !Files("task-").empty() && !Files("agent-").empty(); }

  RealClock clock_;
  sys::TempDir dir_ = *sys::TempDir::Make("provider");
  std::unique_ptr<LocalProvider> provider_;
  std::string mode_;
  std::set<std::string> tokens_;
};

TEST_F(LocalProviderTest, LaunchDescribeTerminate) {
  const int64_t start = NowMs();
  Launch();
  EXPECT_LT(NowMs() - start, 1000);
  const auto seen = See();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->state, InstanceState::kRunning);
  EXPECT_EQ(seen->job, "job");
  EXPECT_EQ(seen->launch, 3);
  EXPECT_TRUE(StartsWith(seen->address, "127.")) << seen->address;
  EXPECT_GT(seen->expires, clock_.Wall());
  EXPECT_TRUE(provider_->Describe("other", "")->empty());
  EXPECT_TRUE(provider_->Describe("ledger", "other")->empty());
  ASSERT_TRUE(Until([&] { return Runs(); }));
  EXPECT_EQ(Beating(), 2);
  EXPECT_TRUE(provider_->Terminate("t1").ok());
  EXPECT_EQ(Beating(), 0);
  EXPECT_FALSE(See());
  EXPECT_TRUE(MarkedProcesses(kInstanceMark, Dir()).empty());
  EXPECT_TRUE(provider_->Terminate("t1").ok()) << "also when it is gone";
  EXPECT_TRUE(provider_->Terminate("never-was").ok());
  // The same token never makes a second machine.
  EXPECT_EQ(provider_->Launch(Request("t1")).code(), Code::kNotFound);
  EXPECT_FALSE(See());
}

TEST_F(LocalProviderTest, EveryMechanismDiesWithTheMachine) {
  for (const std::string mode : {"pidns", "subreaper", ""}) {
    Use(mode);
    const std::string token = "kill-" + mode + "x";
    const size_t before = Files("task-").size();
    Launch(token);
    ASSERT_TRUE(Until([&] { return Files("task-").size() > before; })) << mode;
    const pid_t machine = LockHolder(Dir(token)).value();
    ASSERT_GT(machine, 0);
    kill(machine, SIGKILL);
    ASSERT_TRUE(Until([&] { return IsGone(token); })) << mode;
    EXPECT_EQ(Beating(), 0) << mode;
    EXPECT_EQ(See(token)->why, "the machine process was killed");
    EXPECT_EQ(provider_->Launch(Request(token)).code(), Code::kNotFound);
    EXPECT_EQ(See(token)->state, InstanceState::kGone) << "it does not come back";
  }
  EXPECT_EQ(provider_->Leftovers()->size(), 3u);
  EXPECT_EQ(provider_->Sweep()->size(), 3u);
  EXPECT_TRUE(provider_->Describe("ledger", "")->empty());
}

// What serves an image for its agent has no mark.
TEST_F(LocalProviderTest, WhatAnAgentNotedDiesWithAMachineThatWasKilled) {
  const auto sleeper = [] {
    const pid_t pid = fork();
    if (pid == 0) {
      pause();
      _exit(0);
    }
    return pid;
  };
  const auto killed = [](pid_t pid) {
    int status = 0;
    return waitpid(pid, &status, WNOHANG) == pid && WIFSIGNALED(status);
  };
  for (const bool looked_at : {true, false}) {
    const std::string token = looked_at ? "seen" : "ended";
    Launch(token);
    ASSERT_TRUE(Until([&] { return LockHolder(Dir(token)).value() != 0; }));
    const pid_t helper = sleeper();
    ASSERT_TRUE(NoteProcesses(Dir(token), {*ReadProcessStat(helper)}).ok());
    kill(LockHolder(Dir(token)).value(), SIGKILL);
    if (looked_at) {
      EXPECT_TRUE(Until([&] { return IsGone(token); }));
    } else {
      EXPECT_TRUE(provider_->Terminate(token).ok());
    }
    if (Until([&] { return killed(helper); })) continue;
    ADD_FAILURE() << token;
    kill(helper, SIGKILL);
    waitpid(helper, nullptr, 0);
  }
}

TEST_F(LocalProviderTest, RacingLaunchersMakeOneMachine) {
  tokens_.insert("race");
  for (int round = 0; round < 3; ++round) {
    const std::string token = "race-" + std::to_string(round);
    tokens_.insert(token);
    std::vector<pid_t> launchers;
    for (int i = 0; i < 8; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        execl("/proc/self/exe", "test", "__launch", State().c_str(), token.c_str(), "pidns",
              nullptr);
        _exit(127);
      }
      launchers.push_back(pid);
    }
    for (const pid_t pid : launchers) {
      int status = 0;
      waitpid(pid, &status, 0);
      EXPECT_EQ(WEXITSTATUS(status), 0);
    }
    EXPECT_EQ(See(token)->state, InstanceState::kRunning);
    ASSERT_TRUE(Until([&] { return Files("agent-").size() >= static_cast<size_t>(round + 1); }));
  }
  poll(nullptr, 0, 200);
  EXPECT_EQ(Files("began-").size(), 3u) << "one agent a machine";
}

TEST_F(LocalProviderTest, LauncherThatDiedHalfWay) {
  // The folder is there, nothing was started.
  const std::string token = "half";
  ASSERT_TRUE(sys::MakeDirs(LocalWorkDir(Dir(token))).ok());
  LocalBoot boot;
  boot.request = Request(token);
  boot.instance_id = token;
  boot.binary = "/proc/self/exe";
  boot.agent_argv = {"/proc/self/exe", "__fake", "pidns", "/"};
  boot.created = clock_.Wall();
  boot.boot_id = sys::BootId();
  ASSERT_TRUE(WriteLocalBoot(Dir(token), boot).ok());
  ASSERT_TRUE(RenewLocalLease(Dir(token), clock_.Wall() + Duration::Minutes(1)).ok());
  EXPECT_EQ(See(token)->state, InstanceState::kRequested);
  Launch(token);
  EXPECT_EQ(See(token)->state, InstanceState::kRunning);
  // One that nobody came back for.
  boot.request = Request("old");
  boot.created = clock_.Wall() - Duration::Seconds(20);
  ASSERT_TRUE(sys::MakeDirs(LocalWorkDir(Dir("old"))).ok());
  ASSERT_TRUE(WriteLocalBoot(Dir("old"), boot).ok());
  EXPECT_EQ(See("old")->state, InstanceState::kGone);
  EXPECT_EQ(provider_->Launch(Request("old")).code(), Code::kNotFound);
  EXPECT_EQ(See("old")->state, InstanceState::kGone) << "what was called gone stays gone";
  // One of before a reboot.
  boot.request = Request("rebooted");
  boot.created = clock_.Wall();
  boot.boot_id = "another";
  ASSERT_TRUE(sys::MakeDirs(LocalWorkDir(Dir("rebooted"))).ok());
  ASSERT_TRUE(WriteLocalBoot(Dir("rebooted"), boot).ok());
  EXPECT_EQ(See("rebooted")->why, "the machine was rebooted");
}

TEST_F(LocalProviderTest, AgentIsStartedAgain) {
  Launch();
  for (size_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(Until([&] {
      return Files("task-").size() == round && Files("agent-").size() == round;
    })) << round;
    // Found by chaos: killed while it cleared its directory away.
    if (round == 2) std::filesystem::remove_all(LocalWorkDir(Dir()));
    std::vector<pid_t> marked = MarkedProcesses(kInstanceMark, Dir());
    for (const std::string& f : Files("agent-")) {
      const pid_t pid = std::atoi(f.c_str() + 6);
      if (std::count(marked.begin(), marked.end(), pid) != 0) kill(pid, SIGKILL);
    }
  }
  ASSERT_TRUE(Until([&] { return Files("task-").size() == 4 && Files("agent-").size() == 4; }));
  EXPECT_EQ(Beating(), 2) << "one agent and one task, none of the former";
  EXPECT_EQ(See()->state, InstanceState::kRunning);
}

TEST_F(LocalProviderTest, AgentThatQuitsPowersOff) {
  Use("quit");
  Launch();
  EXPECT_TRUE(Until([&] { return !See(); }));
  EXPECT_EQ(*LocalState(sys::RealPath(State()).value()).Ended("t1"), "the agent powered it off");
  EXPECT_TRUE(Until([&] { return sys::ListDir(State() + "/instances")->empty(); }));
}

TEST_F(LocalProviderTest, LeaseEndsWhatNobodyRenews) {
  LaunchRequest request = Request("t1");
  request.limit = Duration::Ms(1500);
  ASSERT_TRUE(provider_->Launch(request).ok());
  ASSERT_TRUE(Until([&] { return Runs(); }));
  kill(Agent(), SIGSTOP);
  poll(nullptr, 0, 300);
  ASSERT_TRUE(See()) << "not yet";
  EXPECT_TRUE(Until([&] { return !See(); }, 3000));
  EXPECT_EQ(Beating(), 0);
}

TEST_F(LocalProviderTest, LeaseIsRenewed) {
  LaunchRequest request = Request("t1");
  request.limit = Duration::Ms(700);
  ASSERT_TRUE(provider_->Launch(request).ok());
  ASSERT_TRUE(RenewLocalLease(Dir(), clock_.Wall() + Duration::Seconds(60)).ok());
  poll(nullptr, 0, 1000);
  ASSERT_TRUE(See());
  EXPECT_EQ(See()->state, InstanceState::kRunning);
  ASSERT_TRUE(sys::WriteFileAtomic(Dir() + "/lease.json", "garbage", 0600, false).ok());
  poll(nullptr, 0, 100);
  EXPECT_EQ(See()->state, InstanceState::kRunning) << "the last good one counts";
}

TEST_F(LocalProviderTest, NoticeIsToldWithdrawnAndMeant) {
  Launch();
  ASSERT_TRUE(Until([&] { return Runs(); }));
  const auto found = FindLocalPlatform(Dir(), clock_);
  ASSERT_TRUE(found.ok() && *found) << found.status().ToString();
  NodePlatform& host = **found;
  EXPECT_EQ(host.identity().instance_id, "t1");
  EXPECT_EQ(host.identity().address, See()->address);
  EXPECT_FALSE(host.PollNotice().value().has_value());
  ASSERT_TRUE(provider_->Interrupt("t1", Duration::Ms(400)).ok());
  auto notice = host.PollNotice();
  ASSERT_TRUE(notice.ok() && notice->has_value());
  EXPECT_EQ((*notice)->action, "terminate");
  ASSERT_TRUE(provider_->Withdraw("t1").ok());
  EXPECT_FALSE(host.PollNotice().value().has_value());
  poll(nullptr, 0, 700);
  EXPECT_EQ(See()->state, InstanceState::kRunning);
  const int64_t start = NowMs();
  ASSERT_TRUE(provider_->Interrupt("t1", Duration::Ms(500)).ok());
  EXPECT_TRUE(Until([&] { return !See(); }, 3000));
  EXPECT_GE(NowMs() - start, 480);
  EXPECT_LT(NowMs() - start, 1500);
  EXPECT_EQ(Beating(), 0);
  EXPECT_EQ(provider_->Interrupt("t1", Duration::Ms(1)).code(), Code::kNotFound);
}

TEST_F(LocalProviderTest, ShutdownOfTheHostEndsIt) {
  Launch();
  ASSERT_TRUE(Until([&] { return Runs(); }));
  kill(LockHolder(Dir()).value(), SIGTERM);  // the fake agent dies of it
  EXPECT_TRUE(Until([&] { return !See(); }));
  EXPECT_EQ(Beating(), 0);
}

// A process that goes down with its computer begins nothing there; another one does, by the same
// token.
TEST_F(LocalProviderTest, WhoGoesDownBeginsNothing) {
  EXPECT_TRUE(provider_->BeginNoMore());
  EXPECT_FALSE(provider_->BeginNoMore());
  EXPECT_EQ(provider_->Launch(Request("t1")).status().code(), Code::kUnavailable);
  EXPECT_FALSE(See());
  Use("pidns");
  Launch();
  EXPECT_TRUE(Until([&] { return Runs(); }));
}

// What Slurm kills with its allocation could write nothing down.
TEST_F(LocalProviderTest, WhatItsAllocationTookIsKnownByWhoLooks) {
  for (const bool outlive : {false, true}) {
    const std::string token = outlive ? "t2" : "t1";
    std::string told;  // "" = Slurm does not say
    LocalProviderOptions options{State(), "", {"/proc/self/exe", "__fake", mode_, "/"}};
    options.gate.admit = [&](const LaunchRequest&) -> Result<LocalAllocation> {
      return LocalAllocation{12, 0, 0, outlive};
    };
    options.gate.went_with = [&](const LocalBoot& boot) -> Result<std::string> {
      EXPECT_EQ(boot.allocation.job, 12);
      if (told.empty()) return Status(Code::kUnavailable, "no answer");
      return told;
    };
    provider_ = std::move(*MakeLocalProvider(options, clock_));
    Launch(token);
    ASSERT_TRUE(Until([&] {
      const auto seen = See(token);
      return seen && seen->state == InstanceState::kRunning;
    }));
    kill(LockHolder(Dir(token)).value(), SIGKILL);
    ASSERT_TRUE(Until([&] { return See(token)->state == InstanceState::kStopping; }))
        << "nobody can tell yet";
    told = "Slurm's job 12: it was cancelled";
    ASSERT_TRUE(Until([&] { return See(token)->state == InstanceState::kGone; }));
    EXPECT_EQ(See(token)->why, "it went with its allocation: Slurm's job 12: it was cancelled");
    EXPECT_EQ(See(token)->ended_by, outlive ? EndedBy::kPlatform : EndedBy::kOwner);
  }
}

TEST_F(LocalProviderTest, WhatItsAllocationDoesNotAdmitIsNotMade) {
  LocalProviderOptions options{State(), "", {"/proc/self/exe", "__fake", mode_, "/"}};
  Status may(Code::kUnavailable, "it ends");
  options.gate.admit = [&](const LaunchRequest&) -> Result<LocalAllocation> { return may; };
  provider_ = std::move(*MakeLocalProvider(options, clock_));
  const auto later = provider_->Launch(Request("t1"));
  EXPECT_EQ(later.code(), Code::kUnavailable);
  may = Status(Code::kInvalid, "it is over");
  const auto never = provider_->Launch(Request("t1"));
  ASSERT_TRUE(never.refusal().has_value());
  EXPECT_EQ(never.refusal()->what, RefusalClass::kInvalid);
  EXPECT_TRUE(provider_->Describe("ledger", "job")->empty());
}

TEST_F(LocalProviderTest, RemovedFolderEndsIt) {
  Launch();
  ASSERT_TRUE(Until([&] { return Runs(); }));
  ASSERT_TRUE(sys::RemoveTree(Dir()).ok());
  EXPECT_TRUE(Until([&] { return Beating() == 0; }));
}

TEST_F(LocalProviderTest, AddressesDiffer) {
  std::set<std::string> addresses;
  for (int i = 0; i < 5; ++i) Launch("many-" + std::to_string(i));
  for (int i = 0; i < 5; ++i) addresses.insert(See("many-" + std::to_string(i))->address);
  EXPECT_EQ(addresses.size(), 5u);
}

TEST_F(LocalProviderTest, BadInputs) {
  for (const char* token : {"", "..", "a/b", ".hidden", "a b", "x\n"}) {
    LaunchRequest request = Request("t1");
    request.token = token;
    EXPECT_EQ(provider_->Launch(request).code(), Code::kInvalid) << token;
    EXPECT_FALSE(provider_->Terminate(token).ok()) << token;
    EXPECT_FALSE(provider_->Interrupt(token, Duration::Ms(1)).ok()) << token;
  }
  LaunchRequest late = Request("late");
  late.not_after = clock_.Wall() - Duration::Seconds(1);
  EXPECT_EQ(provider_->Launch(late).code(), Code::kNotFound);
  auto missing = MakeLocalProvider({State(), "/no/such/stoker", {}}, clock_);
  const auto launched = (*missing)->Launch(Request("missing"));
  ASSERT_TRUE(launched.refusal().has_value()) << launched.status().ToString();
  EXPECT_EQ(launched.refusal()->what, RefusalClass::kDenied) << launched.status().ToString();
  EXPECT_TRUE((*missing)->Describe("ledger", "")->empty());
  EXPECT_FALSE(MakeLocalProvider({"", "", {}}, clock_).ok());
  // Garbage beside instances is neither shown nor in the way.
  ASSERT_TRUE(sys::MakeDirs(State() + "/instances/garbage").ok());
  ASSERT_TRUE(
      sys::WriteFileAtomic(State() + "/instances/garbage/boot.json", "{]", 0600, false).ok());
  EXPECT_TRUE(provider_->Describe("ledger", "").ok());
  EXPECT_TRUE(provider_->Sweep().ok());
  EXPECT_FALSE(sys::DirExists(State() + "/instances/garbage"));
}

TEST_F(LocalProviderTest, NumbersOfABootFileThatCannotBe) {
  const std::string dir = State() + "/boot";
  ASSERT_TRUE(sys::MakeDirs(dir).ok());
  LocalBoot boot;
  boot.request = Request("t1");
  ASSERT_TRUE(WriteLocalBoot(dir, boot).ok());
  const auto text = sys::ReadFile(dir + "/boot.json");
  ASSERT_TRUE(text.ok() && ReadLocalBoot(dir).ok());
  const size_t at = text->find("\"launch\": ") + 10;
  for (const char* number : {"-1", "4294967297", "1e3", "18446744073709551615", "\"1\""}) {
    std::string wrong = *text;
    wrong.replace(at, wrong.find(',', at) - at, number);
    ASSERT_TRUE(sys::WriteFileAtomic(dir + "/boot.json", wrong, 0600, false).ok());
    EXPECT_EQ(ReadLocalBoot(dir).code(), Code::kCorrupt) << number;
  }
}

TEST_F(LocalProviderTest, FoldersThatVanishWhileTheyAreDescribed) {
  const std::string aside = dir_.path() + "/aside";
  LocalBoot boot;
  boot.request = Request("vanishes");
  boot.instance_id = "vanishes";
  boot.boot_id = "before a reboot";
  ASSERT_TRUE(sys::MakeDirs(aside).ok());
  ASSERT_TRUE(sys::MakeDirs(State() + "/instances").ok());
  ASSERT_TRUE(WriteLocalBoot(aside, boot).ok());
  std::atomic<bool> stop = false;
  std::thread comes_and_goes([&, there = Dir("vanishes")] {
    while (!stop) {
      rename(aside.c_str(), there.c_str());
      usleep(100);
      rename(there.c_str(), aside.c_str());
      usleep(100);
    }
  });
  int seen = 0;
  for (int i = 0; i < 2000 && seen < 50; ++i) {
    const auto all = provider_->Describe("ledger", "job");
    EXPECT_TRUE(all.ok()) << all.status().ToString();
    if (!all.ok()) break;
    for (const InstanceSeen& one : *all) {
      ++seen;
      EXPECT_EQ(one.state, InstanceState::kGone);
      EXPECT_NE(one.why, "");
    }
  }
  stop = true;
  comes_and_goes.join();
  EXPECT_GT(seen, 0);
}

// The fastest of some: what a launch itself takes, on a machine that has other work as well.
TEST_F(LocalProviderTest, StartsFast) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  const std::chrono::milliseconds limit(1000);  // the machine's process is a sanitized one, too
#else
  const std::chrono::milliseconds limit(200);
#endif
  auto fastest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    Launch("fast-" + std::to_string(i));
    fastest = std::min(fastest, std::chrono::steady_clock::now() - start);
  }
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(fastest).count();
  RecordProperty("fastest_us", static_cast<int>(us));
  EXPECT_LT(fastest, limit) << us << " us";
}

}  // namespace
}  // namespace stoker
