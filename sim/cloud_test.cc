// SPDX-License-Identifier: Apache-2.0
#include "sim/cloud.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace stoker::sim {
namespace {

constexpr int64_t kMinute = 60'000;
constexpr int64_t kHour = 60 * kMinute;

class CloudTest : public testing::Test {
 protected:
  CloudTest() {
    cloud.boot_low = cloud.boot_high = 1'000;
    const auto hears = [this](const char* word) {
      return [this, word](CloudMachine& machine) {
        story += word + machine.id.substr(9) + "@" + std::to_string(scheduler.now()) + " ";
      };
    };
    cloud.booted = hears("up");
    cloud.stopped = hears("off");
    cloud.ended = hears("end");
  }
  ~CloudTest() override { laptop.Kill(); }

  LaunchRequest Request(const std::string& token) {
    LaunchRequest request;
    request.token = token;
    request.ledger_id = "ledger";
    request.job = "job";
    request.launch = 3;
    request.limit = Duration::Hours(24);
    return request;
  }
  // Outside of fibers.
  std::string Launch(const std::string& token) {
    const auto id = direct.Launch(Request(token));
    EXPECT_TRUE(id.ok()) << id.status().ToString();
    return id.value_or("");
  }
  void RunUntil(int64_t when) {
    while (scheduler.next() != -1 && scheduler.next() <= when) scheduler.RunOne();
    bool there = false;
    scheduler.At(when, [&] { there = true; });
    while (!there) scheduler.RunOne();
  }
  // In a fiber, to its end.
  void InFiber(const std::function<void()>& body) {
    bool over = false;
    laptop.Spawn([&] {
      body();
      over = true;
    });
    while (!over && scheduler.RunOne()) {
    }
    ASSERT_TRUE(over);
  }
  InstanceState State(const std::string& id) { return cloud.Find(id)->state; }

  Scheduler scheduler;
  Prng prng{7};
  Cloud cloud{scheduler, prng};
  Link link;
  Process laptop{scheduler, "laptop"};
  CloudClient direct{cloud, scheduler, prng, "test", nullptr};
  CloudClient client{cloud, scheduler, prng, "laptop", &link};
  std::string story;
};

// ---- as the providers that ship: expectations of provider/local_provider_test.cc ----

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
  EXPECT_EQ(again.value_or(""), *id) << "what lives is named whenever one asks";
}

TEST_F(CloudTest, RacingLaunchersMakeOneMachine) {
  std::set<std::string> ids;
  int answers = 0;
  for (int i = 0; i < 8; ++i) {
    laptop.Spawn([&] {
      const auto id = client.Launch(Request("race"));
      ids.insert(id.value_or("none"));
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
  cloud.End(*second, "power off");
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
  const std::string id = direct.Launch(request).value();
  request.token = "t2";
  const std::string renewed = direct.Launch(request).value();
  request.token = "t3";
  const std::string shortened = direct.Launch(request).value();
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
  const std::string id = direct.Launch(request).value();
  cloud.faults.never_boots = 1000;
  request.token = "t2";
  const std::string dud = direct.Launch(request).value();
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
  EXPECT_EQ(over.code(), Code::kNoSpace);
  EXPECT_NE(over.status().message().find("quota"), std::string::npos);
  EXPECT_TRUE(direct.Launch(Request("1")).ok()) << "what is there needs no room";
  cloud.quota = 10;
  Launch("3");
  const auto full = direct.Launch(Request("4"));
  EXPECT_EQ(full.code(), Code::kNoSpace);
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

// ---- answers that are behind ----

TEST_F(CloudTest, DescribeIsBehindButNeverAhead) {
  cloud.stale_ms = 60'000;
  const std::string id = Launch("t1");
  RunUntil(2 * kMinute);
  EXPECT_EQ(direct.Describe("ledger", "job")->size(), 1u);
  cloud.End(id, "power off");
  std::set<InstanceState> states;
  for (int i = 0; i < 40; ++i) {
    InFiber([&] {
      const auto all = client.Describe("ledger", "job");
      ASSERT_TRUE(all.ok());
      ASSERT_EQ(all->size(), 1u);
      states.insert(all->at(0).state);
    });
  }
  EXPECT_LT(scheduler.now(), 3 * kMinute);
  EXPECT_EQ(states, (std::set<InstanceState>{InstanceState::kRunning, InstanceState::kGone}));
  RunUntil(4 * kMinute);
  for (int i = 0; i < 40; ++i) {
    InFiber([&] {
      const auto all = client.Describe("ledger", "job");
      ASSERT_EQ(all->size(), 1u);
      EXPECT_EQ(all->at(0).state, InstanceState::kGone) << "after stale_ms everybody knows";
    });
  }
}

// What is left out by an old answer may exist; after appear_within it may not.
TEST_F(CloudTest, NewMachinesAreListedLateButWithinThePromise) {
  cloud.stale_ms = kHour;
  cloud.traits.appear_within = Duration::Minutes(2);
  int missing = 0;
  for (int i = 0; i < 30; ++i) {
    const std::string token = "t" + std::to_string(i);
    const int64_t made = scheduler.now();
    Launch(token);
    const auto listed = [&] {
      bool there = false;
      InFiber([&] {
        const auto all = client.Describe("ledger", "job");
        for (const InstanceSeen& seen : *all) there |= seen.token == token;
      });
      return there;
    };
    missing += !listed();
    RunUntil(made + 2 * kMinute);
    EXPECT_TRUE(listed());
  }
  EXPECT_GT(missing, 5);
}

TEST_F(CloudTest, AnswersShowThePastAsItWas) {
  cloud.stale_ms = 2 * kMinute;
  cloud.boot_low = cloud.boot_high = 10'000;
  const std::string id = Launch("t1");
  RunUntil(10 * kMinute);
  cloud.StopAndStart(id, 20'000);
  RunUntil(10 * kMinute + 40'000);
  cloud.Renew(id, 48 * kHour);
  RunUntil(10 * kMinute + 80'000);
  cloud.latency_low = cloud.latency_high = 10;
  std::set<InstanceState> states;
  std::set<int64_t> limits;
  for (int i = 0; i < 300; ++i) {
    InFiber([&] {
      const auto all = client.Describe("ledger", "job");
      ASSERT_TRUE(all.ok() && all->size() == 1);
      states.insert(all->at(0).state);
      limits.insert((all->at(0).expires.ms - kEpochMs) / kHour);
    });
  }
  EXPECT_EQ(states, (std::set<InstanceState>{InstanceState::kRunning, InstanceState::kStopping,
                                             InstanceState::kStopped, InstanceState::kBooting}));
  EXPECT_EQ(limits, (std::set<int64_t>{24, 48}));
}

// Not before visible_at; after that an answer that is older than the machine leaves it out again.
TEST_F(CloudTest, NewMachinesComeAndGoInAnswersThatAreBehind) {
  cloud.stale_ms = 10 * kMinute;
  cloud.latency_low = cloud.latency_high = 10;
  std::string id;
  int64_t visible = 0;
  for (int i = 0; visible < kMinute || visible > 9 * kMinute; ++i) {
    ASSERT_LT(i, 20);
    id = Launch("t" + std::to_string(i));
    visible = cloud.Find(id)->visible_at;
  }
  const auto listed_of_100 = [&] {
    int listed = 0;
    for (int i = 0; i < 100; ++i) {
      InFiber([&] {
        const auto all = client.Describe("ledger", "job");
        for (const InstanceSeen& seen : *all) listed += seen.id == id;
      });
    }
    return listed;
  };
  RunUntil(visible - 2'000);
  EXPECT_EQ(listed_of_100(), 0);
  RunUntil(visible);
  const int listed = listed_of_100();
  EXPECT_GT(listed, 0);
  EXPECT_LT(listed, 100);
  RunUntil(10 * kMinute);
  EXPECT_EQ(listed_of_100(), 100);
}

TEST_F(CloudTest, ImmediateDescribeSwitchesStalenessOff) {
  cloud.stale_ms = 60'000;
  cloud.traits.describe_is_immediate = true;
  for (int i = 0; i < 30; ++i) {
    InFiber([&] {
      const auto id = client.Launch(Request("t" + std::to_string(i)));
      const auto all = client.Describe("ledger", "job");
      ASSERT_TRUE(id.ok() && all.ok() && !all->empty());
      EXPECT_EQ(all->back().id, *id);
      EXPECT_TRUE(client.Terminate(*id).ok());
      const auto after = client.Describe("ledger", "job");
      ASSERT_TRUE(after.ok() && !after->empty());
      EXPECT_EQ(after->back().state, InstanceState::kGone);
    });
  }
}

// ---- requests ----

TEST_F(CloudTest, RequestsTakeTimeInFibersAloneAndAreCounted) {
  InFiber([&] {
    EXPECT_TRUE(client.Launch(Request("t1")).ok());
    EXPECT_TRUE(client.Describe("ledger", "job").ok());
  });
  EXPECT_GE(scheduler.now(), 40);
  EXPECT_LE(scheduler.now(), 600);
  const int64_t before = scheduler.now();
  cloud.faults.before = 1000;
  EXPECT_TRUE(direct.Describe("ledger", "job").ok()) << "outside of fibers there are no faults";
  EXPECT_EQ(scheduler.now(), before);
  EXPECT_EQ(cloud.counts.launches, 1);
  EXPECT_EQ(cloud.counts.describes, 2);
}

TEST_F(CloudTest, FaultsWithoutEffect) {
  const std::string id = Launch("there");
  const auto all_fail_with = [&](int CloudFaults::*fault, Code code) {
    cloud.faults = {};
    cloud.faults.*fault = 1000;
    InFiber([&] {
      EXPECT_EQ(client.Launch(Request("t1")).code(), code);
      EXPECT_EQ(client.Describe("ledger", "job").code(), code);
      EXPECT_EQ(client.Terminate(id).code(), code);
      EXPECT_EQ(client.Interrupt(id, Duration::Seconds(1)).code(), code);
    });
    RunUntil(scheduler.now() + kHour);
    EXPECT_EQ(cloud.machines().size(), 1u);
    EXPECT_EQ(State(id), InstanceState::kRunning);
  };
  all_fail_with(&CloudFaults::before, Code::kUnavailable);
  all_fail_with(&CloudFaults::throttled, Code::kBusy);
  all_fail_with(&CloudFaults::denied, Code::kDenied);
  cloud.faults = {};
  cloud.faults.no_capacity = 1000;
  InFiber([&] {
    EXPECT_EQ(client.Launch(Request("t1")).code(), Code::kNoSpace);
    EXPECT_TRUE(client.Describe("ledger", "job").ok());
    EXPECT_TRUE(client.Terminate(id).ok());
  });
}

TEST_F(CloudTest, AnswersAreLostAfterTheEffect) {
  cloud.faults.after = 1000;
  InFiber([&] {
    EXPECT_EQ(client.Launch(Request("t1")).code(), Code::kTimeout);
    ASSERT_EQ(cloud.machines().size(), 1u);
    EXPECT_EQ(client.Terminate("i-00000001").code(), Code::kTimeout);
    EXPECT_EQ(State("i-00000001"), InstanceState::kGone);
    EXPECT_EQ(client.Launch(Request("t1")).code(), Code::kTimeout);
    EXPECT_EQ(cloud.machines().size(), 1u);
  });
}

TEST_F(CloudTest, EffectsComeAfterTheClientGaveUp) {
  cloud.faults.late = 1000;
  InFiber([&] {
    EXPECT_EQ(client.Launch(Request("t1")).code(), Code::kTimeout);
    EXPECT_TRUE(cloud.machines().empty());
  });
  const int64_t said = scheduler.now();
  laptop.Kill();  // it is on its way whoever dies
  RunUntil(said + 30'000);
  EXPECT_EQ(cloud.machines().size(), 1u);
}

TEST_F(CloudTest, ALateLaunchMayFindItselfTooLate) {
  cloud.faults.late = 1000;
  LaunchRequest request = Request("t1");
  request.not_after = {kEpochMs + 1};
  InFiber([&] { (void)client.Launch(request); });
  RunUntil(scheduler.now() + kHour);
  EXPECT_TRUE(cloud.machines().empty());
}

// A laptop that is closed while its request is under way sends it when it wakes.
TEST_F(CloudTest, WhatIsHeldUpOnTheWayIsMadeWhereThePlatformKnowsNoNotAfter) {
  for (const bool late_sends : {false, true}) {
    cloud.late_sends = late_sends;
    LaunchRequest request = Request(late_sends ? "t2" : "t1");
    request.not_after = {kEpochMs + scheduler.now() + kMinute};
    scheduler.In(1, [&] { laptop.PauseUntil(scheduler.now() + kHour); });
    Code code = Code::kInternal;
    InFiber([&] { code = client.Launch(request).code(); });
    EXPECT_EQ(code, late_sends ? Code::kOk : Code::kNotFound);
  }
  EXPECT_EQ(cloud.machines().size(), 1u);
  LaunchRequest past = Request("t3");
  past.not_after = {kEpochMs + 1};
  InFiber([&] { EXPECT_EQ(client.Launch(past).code(), Code::kNotFound); });
}

TEST_F(CloudTest, ACutLinkAndAServiceThatIsAway) {
  for (int64_t* const until : {&link.cut_until, &cloud.away_until}) {
    *until = scheduler.now() + kHour;
    std::set<Code> codes;
    for (int i = 0; i < 20; ++i) {
      InFiber([&] { codes.insert(client.Launch(Request("t" + std::to_string(i))).code()); });
    }
    EXPECT_EQ(codes, (std::set<Code>{Code::kUnavailable, Code::kTimeout}));
    EXPECT_TRUE(cloud.machines().empty());
    RunUntil(*until);
    InFiber([&] { EXPECT_TRUE(client.Describe("ledger", "job").ok()); });
  }
}

TEST_F(CloudTest, ADeadProcessChangesNothing) {
  const std::string id = Launch("there");
  RunUntil(2'000);
  Code launched = Code::kOk;
  struct OnTheWayOut {
    std::function<void()> what;
    ~OnTheWayOut() { what(); }
  };
  laptop.Spawn([&] {
    const OnTheWayOut out{[&] {
      launched = client.Launch(Request("t2")).code();
      (void)client.Terminate(id);
      cloud.End(id, "power off");
      cloud.Renew(id, 1);
    }};
    // Killed on its way there.
    cloud.latency_low = cloud.latency_high = 1'000;
    (void)client.Launch(Request("t1"));
  });
  RunUntil(2'100);
  laptop.Kill();
  RunUntil(kHour);
  EXPECT_EQ(launched, Code::kUnavailable);
  EXPECT_EQ(cloud.machines().size(), 1u);
  EXPECT_EQ(State(id), InstanceState::kRunning);
}

TEST_F(CloudTest, AMachineThatPowersOffKillsWhoCalled) {
  const std::string id = Launch("t1");
  Process agent(scheduler, "agent");
  bool went_on = false;
  cloud.ended = [&](CloudMachine& machine) {
    EXPECT_EQ(machine.state, InstanceState::kGone);
    agent.Kill();
  };
  cloud.booted = [&](CloudMachine&) {
    agent.Spawn([&] {
      scheduler.Sleep(10);
      cloud.End(id, "power off");
      went_on = true;
    });
  };
  RunUntil(kMinute);
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(agent.dead());
  EXPECT_EQ(cloud.Running(), 0);
}

TEST_F(CloudTest, WhoAsksIsToldBeforeTheEffect) {
  std::vector<std::string> told;
  cloud.requested = [&](const LaunchRequest& request, const std::string& process) {
    told.push_back(process + " asks " + request.token + " of " +
                   std::to_string(cloud.machines().size()));
  };
  cloud.terminating = [&](const CloudMachine& machine, const std::string& process) {
    told.push_back(process + (machine.gone_at < 0 ? " ends " : " buries ") + machine.id);
  };
  cloud.faults.after = 1000;
  InFiber([&] {
    (void)client.Launch(Request("t1"));
    (void)client.Launch(Request("t1"));
    (void)client.Terminate("i-00000001");
    (void)client.Terminate("i-00000001");
    (void)client.Terminate("i-00000009");
  });
  EXPECT_EQ(told, (std::vector<std::string>{"laptop asks t1 of 0", "laptop asks t1 of 1",
                                            "laptop ends i-00000001", "laptop buries i-00000001"}));
}

std::string Life(uint64_t seed) {
  Scheduler scheduler;
  Prng prng(seed);
  Cloud cloud(scheduler, prng);
  Process laptop(scheduler, "laptop");
  CloudClient client(cloud, scheduler, prng, "laptop", nullptr);
  cloud.zones = {{"a", 3}, {"b", 2}};
  cloud.stale_ms = 30'000;
  cloud.faults = {50, 50, 50, 50, 50, 10, 100, 100};
  std::string story;
  laptop.Spawn([&] {
    for (int i = 0; i < 200; ++i) {
      LaunchRequest request;
      request.token = "t" + std::to_string(prng.Below(40));
      const auto id = client.Launch(request);
      story += std::to_string(scheduler.now()) + (id.ok() ? *id : id.status().message()) + "\n";
      for (const InstanceSeen& seen : client.Describe("", "").value_or({})) {
        story += seen.id + std::to_string(static_cast<int>(seen.state)) + seen.why + "\n";
        const uint64_t fate = prng.Below(20);
        if (fate == 0) (void)client.Terminate(seen.id);
        if (fate == 1) cloud.StopAndStart(seen.id, 20'000);
        if (fate == 2) (void)client.Interrupt(seen.id, Duration::Seconds(30));
      }
    }
  });
  for (int i = 0; i < 100'000 && scheduler.RunOne(); ++i) {
  }
  return story + std::to_string(scheduler.events());
}

// The same seed, the same life of everything; another seed, another.
TEST(Cloud, OneSeedOneStory) {
  const std::string once = Life(1);
  EXPECT_GT(once.size(), 5'000u);
  EXPECT_EQ(once, Life(1));
  EXPECT_NE(once, Life(2));
}

}  // namespace
}  // namespace stoker::sim
