// SPDX-License-Identifier: Apache-2.0
#include "agent/look_pace.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

constexpr MonoTime kStart{100'000};

// A job of so many nodes in its first attempt, all of them training.
struct Trains {
  explicit Trains(int nodes) {
    job.state = JobState::kRunning;
    job.num_nodes = nodes;
    Attempt attempt;
    attempt.number = 1;
    attempt.state = AttemptState::kRunning;
    for (int rank = 0; rank < nodes; ++rank) {
      Launch launch;
      launch.number = rank + 1;
      job.launches.push_back(launch);
      attempt.launches.push_back(launch.number);
      ReportSeen seen;
      seen.report.attempt = 1;
      seen.report.rank = rank;
      seen.report.launch = launch.number;
      seen.report.phase = NodePhase::kRunning;
      reports.push_back(seen);
      machines.push_back(
          {"i" + std::to_string(rank), launch.number, MachineState::kRunning, "", false});
    }
    job.attempts.push_back(attempt);
  }
  bool Undisturbed() const { return IsUndisturbed(job, reports, machines); }
  NodeReport& report(size_t rank) { return reports[rank].report; }

  Job job;
  std::vector<ReportSeen> reports;
  std::vector<MachineSeen> machines;
};

Ending Ended(EndReason reason) {
  Ending ending;
  ending.reason = reason;
  return ending;
}

TEST(Undisturbed, WhileAllTrainOrHaveCompleted) {
  Trains two(2);
  EXPECT_TRUE(two.Undisturbed());
  two.machines.clear();  // of another host: nothing is known of them
  EXPECT_TRUE(two.Undisturbed());
  two.report(1).phase = NodePhase::kEnded;
  two.report(1).end = Ended(EndReason::kCompleted);
  EXPECT_TRUE(two.Undisturbed());
  two.report(0) = two.report(1);
  two.report(0).rank = 0;
  two.report(0).launch = 1;
  EXPECT_FALSE(two.Undisturbed()) << "all have completed: the job is to be ended";
}

TEST(Undisturbed, NotWhenTheRecordAwaitsSomething) {
  const auto after = [](const std::function<void(Job&)>& change) {
    Trains one(1);
    change(one.job);
    return one.Undisturbed();
  };
  EXPECT_TRUE(after([](Job&) {}));
  EXPECT_FALSE(after([](Job& job) { job.cancel = CancelRequest{}; }));
  EXPECT_FALSE(after([](Job& job) { job.state = JobState::kStopping; }));
  EXPECT_FALSE(after([](Job& job) { job.attempts.clear(); }));
  EXPECT_FALSE(after([](Job& job) { job.attempts[0].state = AttemptState::kStaging; }));
  EXPECT_FALSE(after([](Job& job) { job.attempts[0].ending = Ended(EndReason::kUserError); }));
  EXPECT_FALSE(after([](Job& job) { job.launches[0].closed = true; }));
  EXPECT_FALSE(after([](Job& job) { job.launches.push_back({}); })) << "a launch beside it";
  EXPECT_FALSE(after([](Job& job) {
    Attempt before;
    before.state = AttemptState::kDraining;
    job.attempts.insert(job.attempts.begin(), before);
  }));
}

TEST(Undisturbed, NotWhenANodeHasNews) {
  const auto after = [](const std::function<void(Trains&)>& change) {
    Trains two(2);
    change(two);
    return two.Undisturbed();
  };
  EXPECT_FALSE(after([](Trains& w) { w.report(1).phase = NodePhase::kReady; }));
  EXPECT_FALSE(after([](Trains& w) { w.report(1).notice = Notice{}; }));
  EXPECT_FALSE(after([](Trains& w) { w.report(1).end = Ended(EndReason::kUserError); }));
  EXPECT_FALSE(after([](Trains& w) { w.report(1).launch = 7; }));
  EXPECT_FALSE(after([](Trains& w) { w.reports.pop_back(); }));
  EXPECT_FALSE(after([](Trains& w) { w.machines[1].state = MachineState::kGone; }));
  EXPECT_FALSE(after([](Trains& w) {
    w.machines.push_back({"former", 9, MachineState::kRunning, "", false});
  }));
}

StoreTraits Bucket() { return {}; }

TEST(LookPace, OfOneNodeGlancesAndLooksNowAndThen) {
  LookPace pace(Bucket());
  EXPECT_TRUE(pace.Whole(kStart));
  const Trains one(1);
  pace.Looked(kStart, one.job, one.reports, one.machines, false);
  int glances = 0;
  int whole = 0;
  Duration longest;
  for (MonoTime now = kStart; now < kStart + Duration::Hours(1);) {
    const Duration pause = pace.Pause(now);
    longest = std::max(longest, pause);
    now = now + pause;
    if (pace.Whole(now)) {
      ++whole;
      pace.Looked(now, one.job, one.reports, one.machines, false);
    } else {
      ++glances;
    }
  }
  EXPECT_LE(longest, Duration::Seconds(8)) << "a cancel must be heard in time";
  EXPECT_EQ(whole, 120);
  EXPECT_EQ(glances, 360);
}

TEST(LookPace, PeersAreLookedAtMoreOften) {
  LookPace pace(Bucket());
  const Trains two(2);
  pace.Looked(kStart, two.job, two.reports, two.machines, false);
  EXPECT_EQ(pace.Pause(kStart), Duration::Seconds(4));
  EXPECT_FALSE(pace.Whole(kStart + Duration::Ms(9'999)));
  EXPECT_TRUE(pace.Whole(kStart + Duration::Seconds(10)));
}

TEST(LookPace, NewsIsFollowedByWholeLooks) {
  LookPace pace(Bucket());
  Trains one(1);
  pace.Looked(kStart, one.job, one.reports, one.machines, false);
  EXPECT_FALSE(pace.Whole(kStart));
  pace.Disturb();
  EXPECT_TRUE(pace.Whole(kStart));
  EXPECT_EQ(pace.Pause(kStart), Duration::Seconds(2));
  // What it wrote may be only the first step.
  pace.Looked(kStart, one.job, one.reports, one.machines, true);
  EXPECT_TRUE(pace.Whole(kStart));
  // While its end is on the way, nothing is left out, but half as often when it takes long.
  one.report(0).phase = NodePhase::kStopping;
  pace.Looked(kStart, one.job, one.reports, one.machines, false);
  EXPECT_TRUE(pace.Whole(kStart));
  EXPECT_EQ(pace.Pause(kStart + Duration::Seconds(39)), Duration::Seconds(2));
  EXPECT_EQ(pace.Pause(kStart + Duration::Seconds(40)), Duration::Seconds(4));
}

TEST(LookPace, WhereRequestsAreFreeEveryLookIsWhole) {
  StoreTraits folder;
  folder.requests_are_free = true;
  folder.poll = Duration::Ms(50);
  LookPace pace(folder);
  const Trains one(1);
  pace.Looked(kStart, one.job, one.reports, one.machines, false);
  EXPECT_TRUE(pace.Whole(kStart));
  EXPECT_EQ(pace.Pause(kStart), Duration::Ms(50));
  EXPECT_EQ(pace.Pause(kStart + Duration::Seconds(3)), Duration::Ms(100));
}

}  // namespace
}  // namespace stoker
