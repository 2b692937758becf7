// SPDX-License-Identifier: Apache-2.0
// The line of one machine, with real processes: who holds what, whatever is killed, and what others
// may have put into the folder.
#include "provider/local/local_turns.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>

#include "base/text.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_capacity.h"
#include "provider/local/local_provider.h"
#include "sys/real_clock.h"

namespace stoker {
namespace {

bool SoonIs(const std::function<bool()>& true_soon) {
  for (int i = 0; i < 4000; ++i, usleep(3000)) {
    if (true_soon()) return true;
  }
  return false;
}

class LocalTurnsTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TEST_BEATS", Beats().c_str(), 1);
    setenv("STOKER_QUEUE", Queue().c_str(), 1);
    setenv("STOKER_CAPACITY", "cpus=1 memory=0 gpus=0", 1);
    ASSERT_TRUE(sys::MakeDirs(Beats()).ok());
    Open();
  }
  void TearDown() override {
    const auto all = provider_->Describe("ledger", "");
    ASSERT_TRUE(all.ok());
    for (const InstanceSeen& seen : *all) EXPECT_TRUE(provider_->Terminate(seen.id).ok());
    // The waiter goes when nothing is left to wait for.
    EXPECT_TRUE(SoonIs([&] { return Names().empty(); })) << Join(Names(), " ");
  }
  void Open(std::vector<std::string> agent = {"/proc/self/exe", "__fake", "pidns", "/"}) {
    auto provider = MakeLocalProvider({State(), "", std::move(agent)}, clock_);
    ASSERT_TRUE(provider.ok()) << provider.status().ToString();
    provider_ = std::move(*provider);
  }
  std::string State() const { return dir_.path() + "/state"; }
  std::string Beats() const { return dir_.path() + "/beats"; }
  std::string Queue() const { return dir_.path() + "/queue"; }

  LaunchRequest Request(const std::string& token, const std::string& job) {
    LaunchRequest request;
    request.token = token;
    request.ledger_id = "ledger";
    request.job = job;
    request.launches = {1};
    request.slots = {0};
    request.limit = Duration::Minutes(5);
    return request;
  }
  bool Launch(const std::string& token, const std::string& job = "") {
    const auto ids = provider_->Launch(Request(token, job.empty() ? token : job));
    EXPECT_TRUE(ids.ok()) << ids.status().ToString();
    return ids.ok();
  }
  std::optional<InstanceSeen> See(const std::string& token) {
    auto all = provider_->Describe("ledger", "");
    EXPECT_TRUE(all.ok()) << all.status().ToString();
    for (const InstanceSeen& seen : all.ok() ? *all : InstancesSeen()) {
      if (seen.id == token) return seen;
    }
    return std::nullopt;
  }
  bool Is(const std::string& token, InstanceState state) {
    const auto seen = See(token);
    return seen && seen->state == state;
  }
  pid_t MachineOf(const std::string& token) {
    return LockHolder(State() + "/instances/" + token).value_or(0);
  }
  // What lies in the folder besides its lock, and what a killed writer left for a minute.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const sys::DirEntry& entry : sys::ListDir(Queue()).value_or({})) {
      if (entry.name != "lock" && entry.name[0] != '.') names.push_back(entry.name);
    }
    return names;
  }
  std::string NameOf(char kind, const std::string& id) const {
    return Queue() + "/" + kind + "." + std::to_string(geteuid()) + "." + provider_->host() +
           (id.empty() ? "" : "." + id);
  }
  pid_t WaiterPid() {
    const auto fd = sys::Open(NameOf('w', ""), O_RDWR);
    if (!fd.ok()) return 0;
    // Open file description locks have no pid: the one child of nobody that has the file open.
    const auto all = sys::ListDir("/proc");
    for (const sys::DirEntry& entry : *all) {
      const auto line = sys::ReadFile("/proc/" + entry.name + "/cmdline", 4096);
      if (line.ok() && line->find("__waiter") != line->npos &&
          line->find(dir_.path()) != line->npos) {
        return std::atoi(entry.name.c_str());
      }
    }
    return 0;
  }

  RealClock clock_;
  sys::TempDir dir_ = *sys::TempDir::Make("turns");
  std::unique_ptr<LocalProvider> provider_;
};

TEST_F(LocalTurnsTest, OneRunsTheOtherWaitsAndIsStartedInItsTurn) {
  ASSERT_TRUE(Launch("t1"));
  ASSERT_TRUE(Launch("t2"));
  EXPECT_EQ(See("t1")->state, InstanceState::kRunning);
  EXPECT_TRUE(See("t1")->up_for);
  const auto waits = See("t2");
  EXPECT_EQ(waits->state, InstanceState::kQueued);
  EXPECT_EQ(waits->why, "1st in line: waits for 1 CPU; 1 CPU of 1 CPU is in use by t1");
  EXPECT_FALSE(waits->up_for);
  EXPECT_TRUE(Launch("t2")) << "asking again changes nothing";
  EXPECT_TRUE(provider_->Leftovers()->empty());
  EXPECT_TRUE(provider_->Terminate("t1").ok());
  EXPECT_TRUE(SoonIs([&] { return Is("t2", InstanceState::kRunning); }));
  EXPECT_GT(See("t2")->expires, clock_.Wall());
}

TEST_F(LocalTurnsTest, AMachineThatIsKilledGivesBackWhatItHeld) {
  ASSERT_TRUE(Launch("t1"));
  ASSERT_TRUE(Launch("t2"));
  ASSERT_GT(MachineOf("t1"), 0);
  kill(MachineOf("t1"), SIGKILL);
  EXPECT_TRUE(SoonIs([&] { return MachineOf("t2") > 0; })) << "by the waiter alone";
}

TEST_F(LocalTurnsTest, TheNextBeginsOnceAnAgentLeavesUnlessItsProgramIsStillThere) {
  Open({"/bin/sleep", "60"});
  ASSERT_TRUE(Launch("one"));
  ASSERT_TRUE(Launch("two"));
  EXPECT_TRUE(Is("two", InstanceState::kQueued));
  ASSERT_TRUE(WriteLocalReason(State() + "/instances/one", "").ok());
  EXPECT_TRUE(SoonIs([&] { return Is("two", InstanceState::kRunning); }));
  EXPECT_NE(MachineOf("one"), 0);  // it may take its time
  Open();
  ASSERT_TRUE(Launch("three"));
  EXPECT_TRUE(provider_->Terminate("two").ok());
  ASSERT_TRUE(SoonIs([&] { return Is("three", InstanceState::kRunning); }));
  ASSERT_TRUE(SoonIs([&] { return !sys::ListDir(Beats()).value_or({}).empty(); }));
  ASSERT_TRUE(Launch("four"));
  ASSERT_TRUE(WriteLocalReason(State() + "/instances/three", "").ok());
  usleep(300'000);
  EXPECT_TRUE(Is("four", InstanceState::kQueued));
}

TEST_F(LocalTurnsTest, WhoeverLooksStartsTheWaiterAgain) {
  ASSERT_TRUE(Launch("t1"));
  ASSERT_TRUE(Launch("t2"));
  const pid_t waiter = WaiterPid();
  ASSERT_GT(waiter, 0);
  kill(waiter, SIGKILL);
  ASSERT_TRUE(SoonIs([&] { return WaiterPid() == 0; }));
  kill(MachineOf("t1"), SIGKILL);
  ASSERT_TRUE(SoonIs([&] { return MachineOf("t1") == 0; }));
  EXPECT_EQ(MachineOf("t2"), 0);
  (void)See("t2");
  EXPECT_TRUE(SoonIs([&] { return MachineOf("t2") > 0; }));
}

TEST_F(LocalTurnsTest, OneThatWaitsLeavesAtOnce) {
  ASSERT_TRUE(Launch("t1"));
  ASSERT_TRUE(Launch("t2"));
  EXPECT_TRUE(sys::FileExists(NameOf('t', "t2")));
  EXPECT_TRUE(provider_->Terminate("t2").ok());
  EXPECT_FALSE(sys::FileExists(NameOf('t', "t2")));
  EXPECT_FALSE(See("t2"));
  EXPECT_TRUE(SoonIs([&] { return WaiterPid() == 0; })) << "nothing is left to wait for";
  EXPECT_EQ(provider_->Launch(Request("t2", "t2")).code(), Code::kNotFound);
}

TEST_F(LocalTurnsTest, MachinesOfOneJobDoNotWaitForEachOther) {
  ASSERT_TRUE(Launch("t1", "job"));
  ASSERT_TRUE(Launch("t2", "other"));
  ASSERT_TRUE(Launch("t3", "job"));
  EXPECT_EQ(See("t2")->state, InstanceState::kQueued);
  EXPECT_TRUE(SoonIs([&] { return Is("t3", InstanceState::kRunning); }));
  EXPECT_TRUE(provider_->Terminate("t1").ok());
  EXPECT_EQ(See("t2")->state, InstanceState::kQueued) << "the job still holds what it was granted";
  EXPECT_TRUE(provider_->Terminate("t3").ok());
  EXPECT_TRUE(SoonIs([&] { return Is("t2", InstanceState::kRunning); }));
}

TEST_F(LocalTurnsTest, WhatMayNotWaitIsRefusedForWantOfRoom) {
  const auto ask = [&](const std::string& token, const std::string& job) {
    LaunchRequest request = Request(token, job);
    request.ask.options = "priority=9 wait=no";
    return provider_->Launch(request);
  };
  ASSERT_TRUE(Launch("t1"));
  const LaunchAnswer full = ask("t2", "other");
  ASSERT_TRUE(full.refusal());
  EXPECT_EQ(full.refusal()->what, RefusalClass::kCapacity);
  EXPECT_NE(full.refusal()->message.find("in use by t1"), std::string::npos);
  EXPECT_FALSE(See("t2"));
  EXPECT_TRUE(ask("t3", "t1").ok()) << "its job holds what it needs";
  EXPECT_TRUE(Is("t3", InstanceState::kRunning));
  EXPECT_TRUE(provider_->Terminate("t1").ok());
  EXPECT_TRUE(provider_->Terminate("t3").ok());
  EXPECT_TRUE(ask("t2", "other").ok()) << "asked for again, by the same token";
  EXPECT_TRUE(Is("t2", InstanceState::kRunning));
}

TEST_F(LocalTurnsTest, WhoStartsLaterHasTheEnvironmentOfWhoAsked) {
  ASSERT_TRUE(Launch("t1"));
  setenv("TEST_MARK", "of who asked", 1);
  ASSERT_TRUE(Launch("t2"));
  struct stat info {};
  const std::string kept = State() + "/instances/t2/environ";
  ASSERT_EQ(stat(kept.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  unsetenv("TEST_MARK");
  EXPECT_TRUE(provider_->Terminate("t1").ok());
  ASSERT_TRUE(SoonIs([&] { return MachineOf("t2") > 0; }));
  const auto environ = sys::ReadFile("/proc/" + std::to_string(MachineOf("t2")) + "/environ");
  EXPECT_NE(environ->find("TEST_MARK=of who asked"), std::string::npos);
  EXPECT_TRUE(SoonIs([&] { return !sys::FileExists(kept); }));
}

// Wherever a starter is killed, its machine runs in the end, once, and nobody beside it.
TEST_F(LocalTurnsTest, AStarterMayBeKilledAtAnyStep) {
  int whole = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const std::string token = "k" + std::to_string(trial);
    const pid_t starter = fork();
    if (starter == 0) {
      execl("/proc/self/exe", "test", "__launch", State().c_str(), token.c_str(), "pidns", nullptr);
      _exit(127);
    }
    usleep(static_cast<useconds_t>(trial * 700));
    kill(starter, SIGKILL);
    int status = 0;
    waitpid(starter, &status, 0);
    whole += WIFEXITED(status);
    const auto again = provider_->Launch(Request(token, "job"));
    const bool runs = SoonIs([&] {
      const auto seen = See(token);
      return !seen || seen->state == InstanceState::kRunning || seen->state == InstanceState::kGone;
    });
    ASSERT_TRUE(runs) << token << " " << again.status().ToString();
    // What it holds, nobody else has.
    if (Is(token, InstanceState::kRunning)) {
      ASSERT_TRUE(Launch("x" + token));
      EXPECT_EQ(See("x" + token)->state, InstanceState::kQueued) << token;
      EXPECT_TRUE(provider_->Terminate("x" + token).ok());
    }
    EXPECT_TRUE(provider_->Terminate(token).ok());
  }
  EXPECT_LT(whole, 40) << "none was killed on its way";
}

TEST_F(LocalTurnsTest, WhatOthersPutThereChangesNothing) {
  ASSERT_TRUE(Launch("t1"));
  const std::string me = std::to_string(geteuid());
  const std::string secret = dir_.path() + "/secret";
  ASSERT_TRUE(sys::WriteFileAtomic(secret, "stoker ticket 1\nl/j\nj\nu\ncpus=1000\n0\n").ok());
  const std::string mine = sys::ReadFile(NameOf('t', "t1")).value();
  ASSERT_EQ(symlink(secret.c_str(), (Queue() + "/t." + me + ".h.link").c_str()), 0);
  ASSERT_EQ(mkfifo((Queue() + "/t." + me + ".h.pipe").c_str(), 0644), 0);
  ASSERT_EQ(mkdir((Queue() + "/t." + me + ".h.folder").c_str(), 0755), 0);
  // Whose name it has is not whose it is.
  ASSERT_TRUE(sys::WriteFileAtomic(Queue() + "/t.4711.h.other", mine).ok());
  for (const char* text : {"", "stoker ticket 9\n", "stoker ticket 1\nl/j\nj\nu\ncpus=x\n0\n"}) {
    ASSERT_TRUE(sys::WriteFileAtomic(Queue() + "/t." + me + ".h.bad", text).ok());
    const auto seen = LocalQueueFolder(Queue(), provider_->host()).Read();
    ASSERT_EQ(seen.size(), 1u) << text;
    EXPECT_EQ(seen[0].id, "t1");
    EXPECT_TRUE(seen[0].held);
  }
  // A grant that nobody holds gives nothing to anybody.
  ASSERT_TRUE(sys::WriteFileAtomic(Queue() + "/t." + me + ".h.dead", mine).ok());
  ASSERT_TRUE(sys::WriteFileAtomic(Queue() + "/g." + me + ".h.dead", "stoker grant 1\n1\n\n").ok());
  EXPECT_EQ(LocalQueueFolder(Queue(), provider_->host()).Read().size(), 1u);
  EXPECT_TRUE(provider_->Terminate("t1").ok());
  ASSERT_TRUE(sys::RemoveTree(Queue()).ok());
}

TEST_F(LocalTurnsTest, AFolderThatCannotBeUsedIsReplacedByOnesOwn) {
  const std::string link = dir_.path() + "/link";
  ASSERT_EQ(symlink(dir_.path().c_str(), link.c_str()), 0);
  setenv("STOKER_QUEUE", link.c_str(), 1);
  bool own = false;
  const LocalState state(State());
  EXPECT_EQ(OpenLocalQueue(state, "h", &own).path(), State() + "/queue");
  EXPECT_TRUE(own);
  EXPECT_NE(TellLocalQueue(state, "h").find("yours alone"), std::string::npos);
  setenv("STOKER_QUEUE", Queue().c_str(), 1);
  EXPECT_EQ(OpenLocalQueue(state, "h", &own).path(), Queue());
  EXPECT_FALSE(own);
  struct stat info {};
  ASSERT_EQ(stat(Queue().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 01777u);
  EXPECT_EQ(TellLocalQueue(state, "h"),
            "1 CPU, no GPU, shared in turn: 0 machines run, 0 wait (" + Queue() + ")");
}

TEST_F(LocalTurnsTest, CapacityMayBeSaid) {
  setenv("STOKER_CAPACITY", "cpus=3 memory=8GB gpus=2 name=L4", 1);
  EXPECT_TRUE(CheckCapacity().ok());
  const LocalCapacity said = CountCapacity();
  EXPECT_EQ(said.cpus, 3000);
  EXPECT_EQ(said.memory, 8'000'000'000);
  ASSERT_EQ(said.gpus.size(), 2u);
  EXPECT_EQ(said.gpus[1].name, "L4");
  EXPECT_EQ(GrantVariable({1}, said, {}), HasRocm() ? "STOKER_GPUS=rocm:1" : "STOKER_GPUS=cuda:1");
  unsetenv("STOKER_CAPACITY");
  EXPECT_TRUE(CheckCapacity().ok());
  const LocalCapacity counted = CountCapacity();
  EXPECT_GE(counted.cpus, 1000);
  EXPECT_GT(counted.memory, 64 << 20);
  for (const char* odd : {"cpus=none", "cpus=2 memory=much", "gpus=-1", "gpu=2", "cpus=2,gpus=2"}) {
    setenv("STOKER_CAPACITY", odd, 1);
    EXPECT_EQ(CountCapacity().cpus, counted.cpus) << "what is not understood does not count";
    EXPECT_EQ(CheckCapacity().code(), Code::kUsage) << odd;
  }
}

}  // namespace
}  // namespace stoker
