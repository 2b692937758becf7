// SPDX-License-Identifier: Apache-2.0
#include "sim/play/runs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "sim/play/swarm.h"

namespace stoker::sim {
namespace {

Outcome Made(uint64_t index) {
  Outcome outcome;
  outcome.seed = index;
  outcome.hash = index * 77;
  outcome.lives = 1;
  outcome.events = static_cast<int64_t>(index);
  return outcome;
}

Totals Sum(uint64_t count, int parallel) {
  Totals totals;
  RunMany(count, parallel, Made, [&](const Outcome& outcome) {
    totals.Add(outcome);
    return true;
  });
  return totals;
}

TEST(Runs, TheSumIsThatOfOneProcess) {
  const Totals one = Sum(500, 1);
  EXPECT_EQ(one.seeds, 500U);
  EXPECT_EQ(one.lives, 500);
  for (const int parallel : {2, 3, 7}) {
    const Totals many = Sum(500, parallel);
    EXPECT_EQ(many.seeds, 500U);
    EXPECT_EQ(many.events, one.events);
    EXPECT_EQ(many.hash, one.hash);
  }
  EXPECT_NE(Sum(499, 1).hash, one.hash);
}

TEST(Runs, WhatTakesTheProcessWithItIsAnOutcome) {
  std::set<uint64_t> done;
  std::vector<Outcome> crashes;
  const pid_t self = ::getpid();
  RunMany(
      40, 3,
      [self](uint64_t index) {
        if (index == 11 && ::getpid() != self) ::raise(SIGKILL);
        return Made(index);
      },
      [&](const Outcome& outcome) {
        if (outcome.broke) {
          crashes.push_back(outcome);
        } else {
          done.insert(outcome.index);
        }
        return true;
      });
  EXPECT_EQ(done.size(), 39U);
  ASSERT_EQ(crashes.size(), 1U);
  EXPECT_EQ(crashes[0].index, 11U);
  EXPECT_STREQ(crashes[0].rule, "crash");
  EXPECT_STREQ(crashes[0].what, "the simulator died of signal 9");
}

TEST(Runs, EndsWhenThereIsEnoughAndTheSameAreEnoughForAll) {
  for (const int parallel : {1, 2, 5}) {
    InOrder order;
    std::vector<uint64_t> given;
    int64_t lives = 0;
    const auto enough = [&](const Outcome& outcome) {
      given.push_back(outcome.index);
      lives += outcome.lives;
      return lives < 100;
    };
    RunMany(uint64_t{1} << 62, parallel, Made,
            [&](const Outcome& outcome) { return order.Take(outcome, enough); });
    ASSERT_EQ(given.size(), 100U);
    for (uint64_t i = 0; i < given.size(); ++i) EXPECT_EQ(given[i], i);
  }
}

TEST(Runs, WhatComesTwiceIsNotHeldBack) {
  InOrder order;
  std::vector<uint64_t> given;
  const auto done = [&](const Outcome& outcome) {
    given.push_back(outcome.index);
    return true;
  };
  for (const uint64_t index : {1, 0, 2, 0}) {
    Outcome outcome = Made(index);
    outcome.index = index;
    order.Take(outcome, done);
  }
  EXPECT_EQ(given, (std::vector<uint64_t>{0, 1, 2, 0}));
}

TEST(Runs, ASeedIsTheSameWorldEachTime) {
  Totals first;
  Totals second;
  for (Totals* totals : {&first, &second}) {
    RunMany(
        20, totals == &first ? 1 : 2, [](uint64_t index) { return RunPlan(DrawPlan(index + 1)); },
        [&](const Outcome& outcome) {
          totals->Add(outcome);
          return true;
        });
  }
  EXPECT_EQ(first.hash, second.hash);
  EXPECT_EQ(first.events, second.events);
  EXPECT_EQ(first.breaches, 0U);
}

}  // namespace
}  // namespace stoker::sim
