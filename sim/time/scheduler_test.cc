// SPDX-License-Identifier: Apache-2.0
#include "sim/time/scheduler.h"

#include <gtest/gtest.h>

#include <string>

namespace stoker::sim {
namespace {

struct Says {
  std::string& story;
  const char* word;
  ~Says() { story += word; }
};

TEST(Scheduler, EventsComeInTheOrderOfTimeThenOfMaking) {
  Scheduler scheduler;
  std::string story;
  scheduler.At(20, [&] { story += "c"; });
  scheduler.At(10, [&] { story += "a"; });
  scheduler.At(10, [&] { story += "b"; });
  while (scheduler.RunOne()) {
  }
  EXPECT_EQ(story, "abc");
  EXPECT_EQ(scheduler.now(), 20);
}

TEST(Scheduler, FibersSleepAndWakeEachOther) {
  Scheduler scheduler;
  Signal signal(scheduler);
  Process process(scheduler, "p");
  std::string story;
  process.Spawn([&] {
    story += signal.Wait(1000) ? "woken " : "late ";
    story += std::to_string(scheduler.now());
    story += signal.Wait(15) ? " woken " : " late ";
    story += std::to_string(scheduler.now());
  });
  process.Spawn([&] {
    scheduler.Sleep(25);
    signal.Notify();
  });
  while (scheduler.RunOne()) {
  }
  EXPECT_EQ(story, "woken 25 late 40");
  EXPECT_TRUE(process.idle());
}

TEST(Scheduler, KillUnwindsEveryFiberAtOnce) {
  Scheduler scheduler;
  std::string story;
  Process victim(scheduler, "victim");
  Process killer(scheduler, "killer");
  for (const char* word : {"1", "2"}) {
    victim.Spawn([&, word] {
      const Says last{story, word};
      for (;;) scheduler.Sleep(10);
    });
  }
  killer.Spawn([&] {
    scheduler.Sleep(35);
    victim.Kill();
    story += " then ";
    const Says last{story, "me"};
    killer.Kill();
    story += "never";
  });
  while (scheduler.RunOne()) {
  }
  EXPECT_EQ(story, "12 then me");
}

TEST(Scheduler, WhatUnwindsCannotWait) {
  Scheduler scheduler;
  struct Waits {
    Scheduler& scheduler;
    int64_t& left_at;
    ~Waits() {
      scheduler.Sleep(1000);
      left_at = scheduler.now();
    }
  };
  int64_t left_at = -1;
  Process process(scheduler, "p");
  process.Spawn([&] {
    const Waits waits{scheduler, left_at};
    scheduler.Sleep(100);
  });
  scheduler.At(40, [&] { process.Kill(); });
  while (scheduler.RunOne()) {
  }
  EXPECT_EQ(left_at, 40);
}

TEST(Scheduler, WhatHasNotBegunWhenItsProcessIsKilledNeverDoes) {
  Scheduler scheduler;
  Process process(scheduler, "p");
  bool ran = false;
  process.Spawn([&] { ran = true; });
  process.Kill();
  while (scheduler.RunOne()) {
  }
  EXPECT_FALSE(ran);
}

TEST(Scheduler, APausedProcessGoesOnLater) {
  Scheduler scheduler;
  Process process(scheduler, "p");
  int64_t woke = -1;
  process.Spawn([&] {
    scheduler.Sleep(10);
    woke = scheduler.now();
  });
  scheduler.At(5, [&] { process.PauseUntil(500); });
  while (scheduler.RunOne()) {
  }
  EXPECT_EQ(woke, 500);
}

}  // namespace
}  // namespace stoker::sim
