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

using CloudAnswersTest = CloudTest;

// ---- answers that are behind ----

TEST_F(CloudAnswersTest, DescribeIsBehindButNeverAhead) {
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
TEST_F(CloudAnswersTest, NewMachinesAreListedLateButWithinThePromise) {
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

TEST_F(CloudAnswersTest, AnswersShowThePastAsItWas) {
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

// Whatever its age, once and for a while.
TEST_F(CloudAnswersTest, ListsHaveHolesThatClose) {
  cloud.faults.holes = 1000;
  cloud.latency_low = cloud.latency_high = 10;
  Launch("t1");
  RunUntil(12 * kHour);
  const auto listed = [&] {
    size_t machines = 0;
    InFiber([&] { machines = client.Describe("ledger", "job")->size(); });
    return machines;
  };
  EXPECT_EQ(listed(), 0U);
  RunUntil(scheduler.now() + cloud.faults.hole_ms);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(listed(), 1U);
}

// Not before visible_at; after that an answer that is older than the machine leaves it out again.
TEST_F(CloudAnswersTest, NewMachinesComeAndGoInAnswersThatAreBehind) {
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

TEST_F(CloudAnswersTest, ImmediateDescribeSwitchesStalenessOff) {
  cloud.stale_ms = 60'000;
  cloud.traits.describe_is_immediate = true;
  for (int i = 0; i < 30; ++i) {
    InFiber([&] {
      const auto id = client.Launch(Request("t" + std::to_string(i)));
      const auto all = client.Describe("ledger", "job");
      ASSERT_TRUE(id.ok() && all.ok() && !all->empty());
      EXPECT_EQ(all->back().id, id->front());
      EXPECT_TRUE(client.Terminate(id->front()).ok());
      const auto after = client.Describe("ledger", "job");
      ASSERT_TRUE(after.ok() && !after->empty());
      EXPECT_EQ(after->back().state, InstanceState::kGone);
    });
  }
}

// ---- requests ----

TEST_F(CloudAnswersTest, RequestsTakeTimeInFibersAloneAndAreCounted) {
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

TEST_F(CloudAnswersTest, FaultsWithoutEffect) {
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
    cloud.faults.no_capacity = 0;
    const auto made = client.Launch(Request("t1"));
    cloud.faults.no_capacity = 1000;
    const auto again = client.Launch(Request("t1"));
    ASSERT_TRUE(made.ok() && again.ok()) << "what is there takes no room";
    EXPECT_EQ(*again, *made);
    EXPECT_TRUE(client.Describe("ledger", "job").ok());
    EXPECT_TRUE(client.Terminate(id).ok());
  });
}

TEST_F(CloudAnswersTest, LaunchesAreRefusedByClassAndScope) {
  const auto is_told = [&](int CloudFaults::*fault, RefusalClass what, RefusalScope scope) {
    cloud.faults = {};
    cloud.faults.*fault = 1000;
    InFiber([&] {
      const LaunchAnswer answer = client.Launch(Request("t1"));
      ASSERT_TRUE(answer.refusal().has_value()) << answer.status().ToString();
      EXPECT_EQ(answer.refusal()->what, what);
      EXPECT_EQ(answer.refusal()->scope, scope);
    });
    EXPECT_TRUE(cloud.machines().empty());
  };
  is_told(&CloudFaults::no_capacity, RefusalClass::kCapacity, RefusalScope::kZone);
  is_told(&CloudFaults::no_market, RefusalClass::kCapacity, RefusalScope::kMarket);
  is_told(&CloudFaults::no_quota, RefusalClass::kQuota, RefusalScope::kRegion);
  is_told(&CloudFaults::unsettled, RefusalClass::kNotYetConsistent, RefusalScope::kAccount);
  is_told(&CloudFaults::throttled, RefusalClass::kThrottled, RefusalScope::kAccount);
  is_told(&CloudFaults::denied, RefusalClass::kDenied, RefusalScope::kAccount);
  is_told(&CloudFaults::malformed, RefusalClass::kInvalid, RefusalScope::kRequest);
  for (const auto fault : {&CloudFaults::before, &CloudFaults::late}) {
    cloud.faults = {};
    cloud.faults.*fault = 1000;
    InFiber([&] { EXPECT_FALSE(client.Launch(Request("t1")).refusal().has_value()); });
  }
}

TEST_F(CloudAnswersTest, AnswersAreLostAfterTheEffect) {
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

TEST_F(CloudAnswersTest, EffectsComeAfterTheClientGaveUp) {
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

TEST_F(CloudAnswersTest, ALateLaunchMayFindItselfTooLate) {
  cloud.faults.late = 1000;
  LaunchRequest request = Request("t1");
  request.not_after = {kEpochMs + 1};
  InFiber([&] { (void)client.Launch(request); });
  RunUntil(scheduler.now() + kHour);
  EXPECT_TRUE(cloud.machines().empty());
}

// A laptop that is closed while its request is under way sends it when it wakes.
TEST_F(CloudAnswersTest, WhatIsHeldUpOnTheWayIsMadeWhereThePlatformKnowsNoNotAfter) {
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

TEST_F(CloudAnswersTest, ACutLinkAndAServiceThatIsAway) {
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

TEST_F(CloudAnswersTest, ADeadProcessChangesNothing) {
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

TEST_F(CloudAnswersTest, AMachineThatPowersOffKillsWhoCalled) {
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

TEST_F(CloudAnswersTest, WhoAsksIsToldBeforeTheEffect) {
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
      request.launches = {1};
      const auto ids = client.Launch(request);
      story +=
          std::to_string(scheduler.now()) + (ids.ok() ? ids->at(0) : ids.status().message()) + "\n";
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
