// SPDX-License-Identifier: Apache-2.0
// A node whose job failed, and whose machine is kept.
#include <gtest/gtest.h>

#include "agent/supervisor.h"
#include "test/kit/node.h"

namespace stoker::node {
namespace {

auto FailsKept(int64_t until_s) {
  return [=](Job& job) {
    job.state = JobState::kFailed;
    job.launches[0].closed = true;
    job.launches[0].close_reason = CloseReason::kKept;
    job.launches[0].kept_until = WallTime{1'700'000'000'000 + until_s * 1000};
  };
}

Node FailedNode() {
  Node n = Running();
  n.Exits(3).On(EndChecked{}).On(Finalized{1}).Forget();
  return n;
}

TEST(SupervisorKeptTest, StaysUntilItsTimeIsOver) {
  Node n = FailedNode();  // at 5 s
  n.Reads(FailsKept(605)).Does("keep until 605").Shows("kept 1-0 Ended UserError 3 checked");
  EXPECT_EQ(n.WakesIn(), 600'000);
  EXPECT_FALSE(n.supervisor->publishes());
  n.Reads().After(599).Notice(60).Does("").After(1).Does("off");
}

TEST(SupervisorKeptTest, AStartedAgentGoesOnKeeping) {
  Node n;
  n.Reads(FailsKept(605)).Does("keep until 605").After(600).Does("off");
}

TEST(SupervisorKeptTest, ItsTimeIsOfTheStoresClock) {
  Node n = FailedNode();
  FailsKept(605)(n.job);
  ++n.job.rev;
  RecordRead read{n.job};
  read.store_now = WallTime{1'700'000'000'000 + 105'000};  // 100 s ahead of this machine's
  n.On(read).Does("keep until 505").After(500).Does("off");
}

TEST(SupervisorKeptTest, ItsOwnerEndsIt) {
  Node n = FailedNode();
  n.Reads(FailsKept(605)).Forget();
  n.Reads(FailsKept(305)).Does("keep until 305");
  n.After(10).Reads(FailsKept(15)).Does("off");
}

TEST(SupervisorKeptTest, OnceItIsOverItIsNotKeptAnyMore) {
  Node n;
  n.Reads(FailsKept(5)).Does("off");
}

TEST(SupervisorKeptTest, FirstItSavesWhatItHas) {
  Node n = Running();
  n.Exits(3).On(EndChecked{}).Forget();
  n.Reads(FailsKept(605)).Does("").On(Finalized{1}).Does("publish; hurry");
  n.Reads().Does("keep until 605");
}

}  // namespace
}  // namespace stoker::node
