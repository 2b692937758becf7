// SPDX-License-Identifier: Apache-2.0
#include "node/notice_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "node/lease_keeper.h"
#include "sys/real_clock.h"

namespace stoker::node {
namespace {

// Answers what a test says, in turn, and the last of it from then on.
class Scripted : public HostPlatform {
 public:
  using Answer = Result<std::optional<Notice>>;
  explicit Scripted(std::vector<Answer> answers) : answers_(std::move(answers)) {}
  const HostIdentity& identity() const override { return identity_; }
  Answer PollNotice() override { return answers_[std::min(asked++, answers_.size() - 1)]; }
  Result<std::optional<HostAdvice>> PollAdvice() override {
    const size_t at = advice_asked++;
    if (at == 1) return Status(Code::kUnavailable, "no answer");
    if (at < 3) return std::optional<HostAdvice>();
    return std::optional(HostAdvice{"rebalance", WallTime{at < 6 ? 100 : 200}});
  }
  Status Renew(WallTime) override { return Status::Ok(); }
  Status PowerOff(const std::string&) override { return Status::Ok(); }

  std::atomic<size_t> asked = 0;
  std::atomic<size_t> advice_asked = 0;

 private:
  HostIdentity identity_;
  std::vector<Answer> answers_;
};

const Scripted::Answer kNone = std::optional<Notice>();
const Scripted::Answer kTaken = std::optional<Notice>(Notice{"terminate", WallTime{1}});
const Scripted::Answer kAway = Status(Code::kUnavailable, "no answer");

// What TakenNow says once the watch itself has asked for the first time.
bool Taken(std::vector<Scripted::Answer> answers, Duration late = {}) {
  RealClock clock;
  Scripted host(std::move(answers));
  NoticeWatch watch(host, clock, Duration::Hours(1), [](const std::optional<Notice>&) {});
  watch.SignalsMayBeLate(late);
  while (host.asked == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return watch.TakenNow();
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
  Scripted host({kNone});
  std::vector<WallTime> advised;
  std::atomic<int> notices = 0;
  {
    NoticeWatch watch(
        host, clock, Duration::Ms(1), [&](const std::optional<Notice>&) { ++notices; },
        [&](const HostAdvice& advice) { advised.push_back(advice.at); });
    while (host.advice_asked < 10) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(advised, (std::vector<WallTime>{WallTime{100}, WallTime{200}}));
  EXPECT_EQ(notices, 0);
}

// ---- the lease, of which nobody waits for an answer either (node/lease_keeper.h) ----

// Its platform takes a lease's request, and does not answer.
class SilentHost : public HostPlatform {
 public:
  const HostIdentity& identity() const override { return identity_; }
  Result<std::optional<Notice>> PollNotice() override { return std::optional<Notice>(); }
  Result<std::optional<HostAdvice>> PollAdvice() override { return std::optional<HostAdvice>(); }
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

 private:
  HostIdentity identity_;
};

TEST(LeaseKeeper, NobodyWaitsForAnApiThatIsSilent) {
  RealClock clock;
  SilentHost host;
  host.silent = true;
  const WallTime begun = clock.Wall();
  LeaseKeeper keeper(host, clock, Duration::Hours(1), Duration::Ms(5));
  while (host.asked == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(host.renewed, (begun + Duration::Hours(1)).ms);
  keeper.Keep(WallTime{77});  // returns, though Renew does not
  EXPECT_EQ(host.kept, 0);
  host.silent = false;
  while (host.kept == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(host.kept, 77);
  EXPECT_EQ(host.asked, 1) << "what is kept is not renewed";
}

TEST(LeaseKeeper, RenewsAgainWhatFailed) {
  RealClock clock;
  SilentHost host;
  const LeaseKeeper keeper(host, clock, Duration::Hours(1), Duration::Ms(1));
  while (host.asked < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace stoker::node
