// SPDX-License-Identifier: Apache-2.0
#include "node/notice_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "ledger/reports.h"
#include "node/agent.h"
#include "node/lease_keeper.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "test/contract/training_job.h"
#include "test/kit/memory_store.h"

namespace stoker::node {
namespace {

// Answers what a test says, in turn, and the last of it from then on.
class Scripted : public NodePlatform {
 public:
  using Answer = Result<std::optional<Notice>>;
  explicit Scripted(std::vector<Answer> answers) : answers_(std::move(answers)) {}
  Answer PollNotice() override { return answers_[std::min(asked++, answers_.size() - 1)]; }
  Result<std::optional<PlatformAdvice>> PollAdvice() override {
    const size_t at = advice_asked++;
    if (at == 1) return Status(Code::kUnavailable, "no answer");
    if (at < 3) return std::optional<PlatformAdvice>();
    return std::optional(PlatformAdvice{"rebalance", WallTime{at < 6 ? 100 : 200}});
  }
  Status Renew(WallTime) override { return Status::Ok(); }
  Status PowerOff(const std::string&) override { return Status::Ok(); }

  std::atomic<size_t> asked = 0;
  std::atomic<size_t> advice_asked = 0;

 private:
  std::vector<Answer> answers_;
};

const Scripted::Answer kNone = std::optional<Notice>();
const Scripted::Answer kTaken = std::optional<Notice>(Notice{"terminate", WallTime{1}});
const Scripted::Answer kAway = Status(Code::kUnavailable, "no answer");

// What TakenNow says once the watch itself has asked for the first time.
bool Taken(std::vector<Scripted::Answer> answers, Duration late = {}) {
  RealClock clock;
  Scripted platform(std::move(answers));
  NoticeWatch watch(platform, clock, Duration::Hours(1), [](const std::optional<Notice>&) {});
  watch.SignalsMayBeLate(late);
  while (platform.asked == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return watch.TakenNow();
}

// What it tells of a machine that shuts down after the platform has given these answers.
std::optional<Notice> Shutdown(std::vector<Scripted::Answer> answers) {
  RealClock clock;
  Scripted platform(std::move(answers));
  std::mutex mutex;
  std::optional<Notice> told;
  NoticeWatch watch(platform, clock, Duration::Hours(1), [&](const std::optional<Notice>& notice) {
    const std::lock_guard lock(mutex);
    told = notice;
  });
  while (platform.asked == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  watch.MachineStops(Duration::Seconds(20));
  while (platform.asked == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  (void)watch.TakenNow();
  const std::lock_guard lock(mutex);
  return told;
}

TEST(NoticeWatch, AShutdownIsUnexplainedUnlessThePlatformTellsIt) {
  EXPECT_TRUE(Shutdown({kNone})->unexplained);
  EXPECT_TRUE(Shutdown({kNone, kAway})->unexplained);
  EXPECT_FALSE(Shutdown({kTaken})->unexplained);
  EXPECT_FALSE(Shutdown({kNone, kTaken, kTaken, kTaken})->unexplained) << "told later";
}

// What ends a program together with its agent: its end is told while the platform is still given a
// moment to say that it takes the machine.
TEST(NoticeWatch, AProgramThatEndsWithItsMachineWasTaken) {
  RealClock clock;
  Scripted platform({kNone});
  NoticeWatch watch(platform, clock, Duration::Hours(1), [](const std::optional<Notice>&) {});
  while (platform.asked == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::thread told([&] { watch.MachineStops(Duration::Seconds(20)); });
  while (platform.asked == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(watch.TakenNow());
  told.join();
}

TEST(NoticeWatch, AsksOnceMoreWhenAProgramHasEnded) {
  EXPECT_FALSE(Taken({kNone}));
  EXPECT_TRUE(Taken({kNone, kTaken}));
  EXPECT_FALSE(Taken({kTaken, kNone}));  // withdrawn
}

TEST(NoticeWatch, ASignalMayComeAfterTheOneThatEndedTheProgram) {
  EXPECT_TRUE(Taken({kNone, kNone, kNone, kTaken}, Duration::Minutes(1)));
  EXPECT_FALSE(Taken({kNone, kNone, kTaken}));
  EXPECT_FALSE(Taken({kNone}, Duration::Ms(300)));
}

TEST(NoticeWatch, NoAnswerIsNoNegativeOne) {
  EXPECT_FALSE(Taken({kNone, kAway, kNone}));
  EXPECT_TRUE(Taken({kNone, kAway, kAway, kTaken}));
  EXPECT_TRUE(Taken({kNone, kAway}));
  EXPECT_FALSE(Taken({kAway}));  // there is no such service here
}

TEST(NoticeWatch, TellsARecommendationOnceAndItIsNoNotice) {
  RealClock clock;
  Scripted platform({kNone});
  std::vector<WallTime> advised;
  std::atomic<int> notices = 0;
  {
    NoticeWatch watch(
        platform, clock, Duration::Ms(1), [&](const std::optional<Notice>&) { ++notices; },
        [&](const PlatformAdvice& advice) { advised.push_back(advice.at); });
    while (platform.advice_asked < 10) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(advised, (std::vector<WallTime>{WallTime{100}, WallTime{200}}));
  EXPECT_EQ(notices, 0);
}

// ---- the lease, of which nobody waits for an answer either (node/lease_keeper.h) ----

// Its platform takes a lease's request, and does not answer.
class SilentPlatform : public NodePlatform {
 public:
  using NodePlatform::NodePlatform;
  Result<std::optional<Notice>> PollNotice() override { return std::optional<Notice>(); }
  Status Renew(WallTime deadline) override {
    renewed = deadline.ms;
    ++asked;
    while (silent) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Status(Code::kTimeout, "no answer");
  }
  Status Keep(WallTime until) override {
    kept = until.ms;
    return Status::Ok();
  }
  Status PowerOff(const std::string&) override { return Status::Ok(); }

  std::atomic<bool> silent = false;
  std::atomic<int> asked = 0;
  std::atomic<int64_t> renewed = 0;
  std::atomic<int64_t> kept = 0;
};

TEST(LeaseKeeper, NobodyWaitsForAnApiThatIsSilent) {
  RealClock clock;
  SilentPlatform platform;
  platform.silent = true;
  const WallTime begun = clock.Wall();
  LeaseKeeper keeper(platform, clock, Duration::Hours(1), Duration::Ms(5));
  while (platform.asked == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(platform.renewed, (begun + Duration::Hours(1)).ms);
  keeper.Keep(WallTime{77});  // returns, though Renew does not
  EXPECT_EQ(platform.kept, 0);
  platform.silent = false;
  while (platform.kept == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(platform.kept, 77);
  EXPECT_EQ(platform.asked, 1) << "what is kept is not renewed";
}

TEST(LeaseKeeper, RenewsAgainWhatFailed) {
  RealClock clock;
  SilentPlatform platform;
  const LeaseKeeper keeper(platform, clock, Duration::Hours(1), Duration::Ms(1));
  while (platform.asked < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// ---- the whole agent, on a machine whose platform's API is silent ----

struct Program {
  std::atomic<bool> runs = false;
  std::atomic<bool> told = false;
};

class ToldTask : public Task {
 public:
  explicit ToldTask(Program& program) : program_(program) { program_.runs = true; }
  std::optional<TaskExit> Poll() override {
    if (!program_.told) return std::nullopt;
    return TaskExit{0, SIGTERM};
  }
  std::optional<TaskExit> Wait(int64_t) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Poll();
  }
  Result<std::vector<SignalledProcess>> Signal(int) override { return Nobody(); }
  Result<std::vector<SignalledProcess>> Stop() override {
    program_.told = true;
    return Nobody();
  }
  bool SavesAtStop() override { return false; }
  Status End() override {
    program_.told = true;
    return Status::Ok();
  }
  TaskUsage Usage() override { return {}; }
  std::string mechanism() const override { return "none"; }
  bool has_host_name() const override { return false; }
  std::vector<int> Processes() override { return {}; }

 private:
  static std::vector<SignalledProcess> Nobody() { return {}; }
  Program& program_;
};

class ToldRunner : public ProcessRunner {
 public:
  Result<std::unique_ptr<Task>> Start(const TaskCommand&, LogSink&) override {
    return std::unique_ptr<Task>(std::make_unique<ToldTask>(program));
  }
  Program program;
};

class SilentMachine : public SilentPlatform {
 public:
  explicit SilentMachine(const std::string& dir) : SilentPlatform(IdentityIn(dir), TraitsIn(dir)) {
    silent = true;
  }
  Result<std::optional<Notice>> PollNotice() override {
    if (until == 0) return std::optional<Notice>();
    return std::optional(Notice{"terminate", WallTime{until}});
  }
  std::atomic<int64_t> until = 0;

 private:
  static NodeIdentity IdentityIn(const std::string& dir) {
    NodeIdentity me;
    me.request.job = "job1";
    me.request.limit = Duration::Hours(1);
    me.launch = 1;
    me.instance_id = "i-1";
    me.boot_id = "boot";
    me.address = "127.0.0.1";
    me.dir = dir;
    return me;
  }
  static PlatformTraits TraitsIn(const std::string& dir) {
    PlatformTraits traits;
    traits.state_dir = dir + "/state";
    traits.notice_poll = Duration::Ms(20);
    return traits;
  }
};

bool Comes(const std::function<bool()>& what) {
  for (int i = 0; i < 4000 && !what(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return what();
}

TEST(Agent, ActsOnANoticeWhileItsLeaseIsBeingRenewed) {
  const sys::TempDir dir = *sys::TempDir::Make("silent-api");
  RealClock clock;
  MemoryStore store([&clock] { return clock.Wall(); });
  const auto ledger = *Ledger::Open(store, clock, 1);
  Job job = TrainingJob("job1", 1, clock.Wall());
  job.state = JobState::kPending;
  job.attempts[0].state = AttemptState::kStaging;
  job.attempts[0].running.reset();
  CreateTrainingJob(*ledger, job);
  Controller controller(
      *ledger,
      [](const std::string&) -> Result<Provider*> { return static_cast<Provider*>(nullptr); },
      clock);
  ToldRunner runner;
  SilentMachine platform(dir.path());
  Agent agent({store, *ledger, controller, runner, clock, platform}, dir.path() + "/cache");
  std::thread runs([&] { EXPECT_TRUE(agent.Run().ok()); });
  EXPECT_TRUE(Comes([&] { return platform.asked > 0 && runner.program.runs; }));
  platform.until = (clock.Wall() + Duration::Seconds(2)).ms;
  EXPECT_TRUE(Comes([&] { return runner.program.told.load(); }));
  EXPECT_LT(clock.Wall().ms, platform.until + 1000) << "told in time";
  EXPECT_TRUE(Comes([&] {
    const auto report = ReadReport(*ledger, "job1", 1, 0);
    return report.ok() && report->notice && report->phase == NodePhase::kEnded;
  }));
  EXPECT_EQ(platform.asked, 1) << "all that time nobody answered";
  platform.silent = false;
  EXPECT_TRUE(MutateJob(*ledger, "job1", [](Job& record) -> Result<bool> {
                record.state = JobState::kCancelled;
                record.launches[0].closed = true;
                record.launches[0].close_reason = CloseReason::kDone;
                return true;
              }).ok());
  runs.join();
}

}  // namespace
}  // namespace stoker::node
