// SPDX-License-Identifier: Apache-2.0
#include "sim/cloud/cloud.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "sim/cloud/cloud_kit.h"

namespace stoker::sim {
namespace {

// ---- as the providers that ship: expectations of provider/local/local_provider_test.cc ----

TEST_F(CloudTest, LaunchDescribeTerminate) {
  const std::string id = Launch("t1");
  EXPECT_EQ(Launch("t1"), id) << "the same token never makes a second machine";
  RunUntil(5'000);
  auto all = direct.Describe("ledger", "job");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 1u);
  const InstanceSeen seen = (*all)[0];
  EXPECT_EQ(seen.id, id);
  EXPECT_EQ(seen.token, "t1");
  EXPECT_EQ(seen.ledger_id, "ledger");
  EXPECT_EQ(seen.state, InstanceState::kRunning);
  EXPECT_EQ(seen.job, "job");
  EXPECT_EQ(seen.launch, 3);
  EXPECT_EQ(seen.address, "10.0.0.1");
  EXPECT_EQ(seen.expires, (WallTime{kEpochMs} + Duration::Hours(24)));
  EXPECT_EQ(direct.Describe("ledger", "")->size(), 1u);
  EXPECT_TRUE(direct.Describe("other", "")->empty());
  EXPECT_TRUE(direct.Describe("ledger", "other")->empty());
  EXPECT_TRUE(direct.Terminate(id).ok());
  EXPECT_EQ(direct.Describe("ledger", "job")->at(0).state, InstanceState::kGone);
  EXPECT_TRUE(direct.Terminate(id).ok()) << "also when it is gone";
  EXPECT_TRUE(direct.Terminate("never-was").ok());
  EXPECT_EQ(direct.Launch(Request("t1")).code(), Code::kNotFound);
  EXPECT_EQ(cloud.machines().size(), 1u);
  EXPECT_EQ(story, "up1@1000 end1@5000 ");
}

TEST_F(CloudTest, BadInputs) {
  for (const char* token : {"", "..", "a/b", ".hidden", "a b", "x\n"}) {
    EXPECT_EQ(direct.Launch(Request(token)).code(), Code::kInvalid) << token;
    EXPECT_FALSE(direct.Terminate(token).ok()) << token;
    EXPECT_FALSE(direct.Interrupt(token, Duration::Ms(1)).ok()) << token;
  }
  EXPECT_TRUE(cloud.machines().empty());
}

TEST_F(CloudTest, NothingIsMadeAfterNotAfter) {
  LaunchRequest request = Request("late");
  request.not_after = {kEpochMs + kMinute};
  LaunchRequest early = request;
  early.token = "early";
  RunUntil(kMinute);
  const auto id = direct.Launch(early);
  ASSERT_TRUE(id.ok()) << "in its last moment";
  RunUntil(kMinute + 1);
  EXPECT_EQ(direct.Launch(request).code(), Code::kNotFound);
  const auto again = direct.Launch(early);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *id) << "what lives is named whenever one asks";
}

TEST_F(CloudTest, AGangNeedsRoomInOneZone) {
  cloud.zones = {{"a", 2}, {"b", 3}};
  LaunchRequest request = Request("gang");
  request.launches = {1, 2, 3};
  const auto ids = direct.Launch(request);
  ASSERT_TRUE(ids.ok()) << ids.status().ToString();
  for (const std::string& id : *ids) EXPECT_EQ(cloud.Find(id)->zone, "b");
  request.token = "another";
  EXPECT_EQ(direct.Launch(request).code(), Code::kNoSpace) << "though there are two places left";
  EXPECT_EQ(cloud.Running(), 3);
}

TEST_F(CloudTest, RacingLaunchersMakeOneMachine) {
  std::set<std::string> ids;
  int answers = 0;
  for (int i = 0; i < 8; ++i) {
    laptop.Spawn([&] {
      const auto id = client.Launch(Request("race"));
      ids.insert(id.ok() ? id->front() : "none");
      ++answers;
    });
  }
  RunUntil(kMinute);
  EXPECT_EQ(answers, 8);
  EXPECT_EQ(ids.size(), 1u);
  EXPECT_EQ(cloud.machines().size(), 1u);
}

TEST_F(CloudTest, NoticeIsServedWithdrawnAndMeant) {
  const std::string id = Launch("t1");
  RunUntil(10'000);
  ASSERT_TRUE(direct.Interrupt(id, Duration::Seconds(120)).ok());
  ASSERT_TRUE(cloud.Find(id)->notice.has_value());
  EXPECT_EQ(cloud.Find(id)->notice->action, "terminate");
  EXPECT_EQ(cloud.Find(id)->notice->until.ms, kEpochMs + 130'000);
  cloud.Withdraw(id);
  EXPECT_FALSE(cloud.Find(id)->notice.has_value());
  RunUntil(100'000);
  // The timer of the first must not end it at 130 s.
  ASSERT_TRUE(direct.Interrupt(id, Duration::Seconds(120)).ok());
  RunUntil(219'999);
  EXPECT_EQ(State(id), InstanceState::kRunning);
  RunUntil(220'000);
  EXPECT_EQ(State(id), InstanceState::kGone);
  EXPECT_EQ(direct.Interrupt(id, Duration::Ms(1)).code(), Code::kNotFound);
  cloud.Withdraw(id);
  EXPECT_EQ(State(id), InstanceState::kGone);
  EXPECT_EQ(story, "up1@1000 end1@220000 ");
}

// ---- what local machines do not have ----

TEST_F(CloudTest, ATokenIsForgottenADayAfterItsMachine) {
  const std::string id = Launch("t1");
  RunUntil(kHour);
  cloud.End(id, "power off");
  RunUntil(25 * kHour - 1);
  EXPECT_EQ(direct.Launch(Request("t1")).code(), Code::kNotFound);
  RunUntil(25 * kHour);
  EXPECT_NE(Launch("t1"), id) << "a second machine";
  LaunchRequest guarded = Request("t2");
  guarded.not_after = {kEpochMs + 26 * kHour};
  const auto second = direct.Launch(guarded);
  cloud.End(second->front(), "power off");
  RunUntil(60 * kHour);
  EXPECT_EQ(direct.Launch(guarded).code(), Code::kNotFound) << "not_after is the better guard";
}

TEST_F(CloudTest, ANoticeIsOnlyEverShortened) {
  const std::string id = Launch("t1");
  cloud.Take(id, 120'000);
  cloud.Take(id, 500'000);
  EXPECT_EQ(cloud.Find(id)->notice->until.ms, kEpochMs + 120'000);
  cloud.Take(id, 30'000);
  EXPECT_EQ(cloud.Find(id)->notice->until.ms, kEpochMs + 30'000);
  const std::string other = Launch("t2");
  cloud.Take(other, 120'000);
  cloud.Take(other, 0);
  EXPECT_FALSE(cloud.Find(other)->notice.has_value());
  RunUntil(kHour);
  EXPECT_EQ(story, "end2@0 up1@1000 end1@30000 ");
}

TEST_F(CloudTest, StopAndStartIsTheSameMachineAndForgetsItsNotice) {
  const std::string id = Launch("t1");
  RunUntil(10'000);
  cloud.Take(id, 30'000);
  cloud.StopAndStart(id, 60'000);
  EXPECT_EQ(State(id), InstanceState::kStopping);
  EXPECT_FALSE(cloud.Find(id)->notice.has_value());
  cloud.StopAndStart(id, 1);  // nothing: it is down
  RunUntil(20'000);
  EXPECT_EQ(State(id), InstanceState::kStopped);
  RunUntil(70'500);
  EXPECT_EQ(State(id), InstanceState::kBooting);
  RunUntil(100'000);
  EXPECT_EQ(State(id), InstanceState::kRunning);
  EXPECT_EQ(cloud.Find(id)->boots, 2);
  EXPECT_EQ(cloud.Find(id)->booted_at, 71'000);
  EXPECT_EQ(story, "up1@1000 off1@10000 up1@71000 ");
}

TEST_F(CloudTest, WhatIsStoppedWhileItBootsComesUpOnce) {
  const std::string id = Launch("t1");
  RunUntil(500);
  cloud.StopAndStart(id, 10'000);
  RunUntil(kMinute);
  EXPECT_EQ(story, "off1@500 up1@11500 ");
  EXPECT_EQ(cloud.Find(id)->boots, 1);
}

TEST_F(CloudTest, WhatIsEndedWhileStoppedStaysSo) {
  const std::string id = Launch("t1");
  RunUntil(5'000);
  cloud.StopAndStart(id, 10'000);
  EXPECT_TRUE(direct.Terminate(id).ok());
  cloud.End(id, "again");
  RunUntil(kHour);
  EXPECT_EQ(story, "up1@1000 off1@5000 end1@5000 ");
  EXPECT_EQ(cloud.Find(id)->why, "terminated");
}

TEST_F(CloudTest, TheLimitEndsItUnlessRenewed) {
  LaunchRequest request = Request("t1");
  request.limit = Duration::Minutes(10);
  const std::string id = direct.Launch(request)->front();
  request.token = "t2";
  const std::string renewed = direct.Launch(request)->front();
  request.token = "t3";
  const std::string shortened = direct.Launch(request)->front();
  RunUntil(kMinute);
  cloud.Renew(renewed, 30 * kMinute);
  cloud.Renew(shortened, 2 * kMinute);
  RunUntil(20 * kMinute);
  EXPECT_EQ(direct.Describe("ledger", "")->at(1).expires.ms, kEpochMs + 30 * kMinute);
  cloud.Renew(renewed, 40 * kMinute);
  cloud.Renew(id, 90 * kMinute);  // too late
  RunUntil(kHour);
  EXPECT_EQ(story, "up1@1000 up2@1000 up3@1000 end3@120000 end1@600000 end2@2400000 ");
}

TEST_F(CloudTest, ALimitThatNeedsABootIsKeptAtTheNextOne) {
  cloud.limit_needs_boot = true;
  LaunchRequest request = Request("t1");
  request.limit = Duration::Minutes(10);
  const std::string id = direct.Launch(request)->front();
  cloud.faults.never_boots = 1000;
  request.token = "t2";
  const std::string dud = direct.Launch(request)->front();
  RunUntil(9 * kMinute);
  cloud.StopAndStart(id, 20 * kMinute);
  RunUntil(10 * kHour);
  EXPECT_EQ(story, "up1@1000 off1@540000 end1@1741000 ");
  EXPECT_EQ(State(dud), InstanceState::kBooting) << "nobody ends it but a client";
}

TEST_F(CloudTest, CapacityIsByZoneInTheirOrderAndTheQuotaIsForAll) {
  cloud.zones = {{"a", 1}, {"b", 2}};
  EXPECT_EQ(cloud.Find(Launch("1"))->zone, "a");
  EXPECT_EQ(cloud.Find(Launch("2"))->zone, "b");
  cloud.quota = 2;
  const auto over = direct.Launch(Request("3"));
  ASSERT_TRUE(over.refusal().has_value());
  EXPECT_EQ(over.refusal()->what, RefusalClass::kQuota);
  EXPECT_NE(over.status().message().find("quota"), std::string::npos);
  EXPECT_TRUE(direct.Launch(Request("1")).ok()) << "what is there needs no room";
  cloud.quota = 10;
  Launch("3");
  const auto full = direct.Launch(Request("4"));
  ASSERT_TRUE(full.refusal().has_value());
  EXPECT_EQ(full.refusal()->what, RefusalClass::kCapacity);
  EXPECT_EQ(full.refusal()->scope, RefusalScope::kZone);
  EXPECT_NE(full.status().message().find("capacity"), std::string::npos);
  cloud.End("i-00000001", "power off");
  EXPECT_EQ(cloud.Find(Launch("4"))->zone, "a") << "a launch that found no room can be repeated";
  EXPECT_EQ(cloud.Running(), 3);
}

TEST_F(CloudTest, LessCapacityTakesTheNewestOfThatZone) {
  cloud.zones = {{"a", 4}, {"b", 4}};
  for (const char* token : {"1", "2", "3", "4", "5"}) Launch(token);
  RunUntil(5'000);
  story.clear();
  cloud.SetCapacity("a", 3, 30'000);
  EXPECT_FALSE(cloud.Find("i-00000003")->notice.has_value());
  EXPECT_TRUE(cloud.Find("i-00000004")->notice.has_value());
  RunUntil(10'000);
  cloud.SetCapacity("a", 2, 30'000);
  RunUntil(kMinute);
  EXPECT_EQ(story, "end4@35000 end3@40000 ");
  EXPECT_EQ(cloud.zones[0].running, 2);
  // One that leaves already makes the room; nobody else is taken.
  cloud.Take("i-00000001", 120'000);
  cloud.SetCapacity("a", 1, 60'000);
  EXPECT_FALSE(cloud.Find("i-00000002")->notice.has_value());
  EXPECT_EQ(cloud.Find("i-00000001")->notice->until.ms, kEpochMs + 2 * kMinute);
  cloud.SetCapacity("a", 0, 0);
  EXPECT_EQ(cloud.zones[0].running, 0);
  EXPECT_EQ(State("i-00000005"), InstanceState::kRunning);
  cloud.SetCapacity("c", 1, 0);
  EXPECT_EQ(cloud.zones.back().name, "c");
}

TEST_F(CloudTest, SomeBootSlowlyAndSomeNever) {
  cloud.faults.slow_boots = 1000;
  cloud.faults.slow_boot_ms = 900'000;
  const std::string slow = Launch("slow");
  cloud.faults.slow_boots = 0;
  cloud.faults.never_boots = 1000;
  const std::string never = Launch("never");
  RunUntil(900'000);
  EXPECT_EQ(State(slow), InstanceState::kRunning);
  EXPECT_GE(cloud.Find(slow)->booted_at, 1'000);
  EXPECT_EQ(State(never), InstanceState::kBooting);
  RunUntil(23 * kHour);
  EXPECT_EQ(State(never), InstanceState::kBooting);
  RunUntil(24 * kHour);
  EXPECT_EQ(State(never), InstanceState::kGone) << "the platform keeps its limit";
}

TEST_F(CloudTest, BootTimesAreDrawnFromTheirRange) {
  cloud.boot_low = 500;
  cloud.boot_high = 5'000;
  std::set<int64_t> times;
  for (int i = 0; i < 50; ++i) Launch("t" + std::to_string(i));
  RunUntil(kMinute);
  for (const auto& [id, machine] : cloud.machines()) times.insert(machine.booted_at);
  EXPECT_GE(*times.begin(), 500);
  EXPECT_LE(*times.rbegin(), 5'000);
  EXPECT_GT(times.size(), 20u);
}

TEST_F(CloudTest, WhatIsGoneIsListedForAnHour) {
  const std::string id = Launch("t1");
  RunUntil(kMinute);
  cloud.End(id, "power off");
  RunUntil(61 * kMinute - 1);
  const auto listed = direct.Describe("ledger", "job");
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->at(0).state, InstanceState::kGone);
  EXPECT_EQ(listed->at(0).why, "power off");
  RunUntil(61 * kMinute);
  EXPECT_TRUE(direct.Describe("ledger", "job")->empty());
}

}  // namespace
}  // namespace stoker::sim
