// SPDX-License-Identifier: Apache-2.0
// One node, looked at once in a while by observers that know only what the one before has kept.
#include "controller/listening.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

class ListeningTest : public testing::Test {
 protected:
  ListeningTest() {
    job_.id = "job1";
    job_.state = JobState::kRunning;
    Launch launch;
    launch.number = 1;
    job_.launches.push_back(launch);
    Attempt attempt;
    attempt.number = 1;
    attempt.launches = {1};
    attempt.state = AttemptState::kRunning;
    job_.attempts.push_back(attempt);
    Reports();
  }

  void Reports() {
    ++seq_;
    reported_ = now_;
  }

  // After so many seconds another observer looks: for how long it takes the node to be silent.
  int64_t Look(int64_t after) {
    now_ = now_ + Duration::Seconds(after);
    ReportSeen seen;
    seen.report.job = job_.id;
    seen.report.attempt = 1;
    seen.report.launch = 1;
    seen.report.seq = seq_;
    seen.report.incarnation = "a";
    seen.age = now_ - reported_;
    std::vector<ReportSeen> reports{seen};
    quiet_ = AnyQuiet(job_, reports);
    if (quiet_) {
      kept_ = NextQuietNodes(kept_, job_, reports, now_);
      CountQuietNodes(kept_, &reports);
    }
    return reports.front().unchanged.ms / 1000;
  }

  Job job_;
  QuietNodes kept_;
  WallTime now_{1'000'000'000};
  WallTime reported_;
  int64_t seq_ = 0;
  bool quiet_ = false;
};

TEST_F(ListeningTest, ATimerEachMinuteFindsASilentNode) {
  EXPECT_EQ(Look(60), 0);
  EXPECT_EQ(Look(60), 0) << "the store may have been away until just now";
  EXPECT_EQ(Look(60), 60);
  EXPECT_EQ(Look(60), 120);
}

TEST_F(ListeningTest, ANodeThatReportsIsNotKept) {
  for (int i = 0; i < 5; ++i) {
    Reports();
    EXPECT_EQ(Look(15), 0);
    EXPECT_FALSE(quiet_);
  }
}

TEST_F(ListeningTest, AReportBeginsAnew) {
  Look(60);
  Look(60);
  Reports();
  EXPECT_EQ(Look(50), 0);
  EXPECT_EQ(Look(60), 0);
  EXPECT_EQ(Look(60), 60);
}

TEST_F(ListeningTest, AnHourWithoutLooksIsNoSilence) {
  Look(60);
  Look(60);
  EXPECT_EQ(Look(3600), 0);
  EXPECT_EQ(Look(60), 0);
}

// The store was away from just after a look until just before another.
TEST_F(ListeningTest, AnOutageBetweenTwoLooksIsNoSilence) {
  Look(60);
  EXPECT_LT(Look(500), 90);
  EXPECT_LT(Look(5), 90);
  EXPECT_GE(Look(90), 90);
}

TEST_F(ListeningTest, LooksAtOnceAreNoTime) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Look(0), 0);
  EXPECT_EQ(Look(200), 0);
}

TEST_F(ListeningTest, AClockThatWentBackBeginsAnew) {
  Look(60);
  Look(60);
  Look(60);
  now_ = now_ - Duration::Hours(2);
  reported_ = now_ - Duration::Seconds(100);
  EXPECT_EQ(Look(0), 0);
}

TEST_F(ListeningTest, WhoIsGivenUpIsNotKept) {
  job_.launches.front().closed = true;
  Look(100);
  EXPECT_FALSE(quiet_);
}

}  // namespace
}  // namespace stoker
