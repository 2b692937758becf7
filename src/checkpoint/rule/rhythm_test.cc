// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/rhythm.h"

#include <gtest/gtest.h>

#include "checkpoint/rule/pointer_check.h"

namespace stoker {
namespace {

constexpr Duration kQuiet = Duration::Seconds(2);

// "M 300 O 2000 M": names of roles and the pauses between them; a write takes 50 ms.
std::deque<Episode> History(const std::vector<std::pair<std::string, int>>& writes) {
  std::deque<Episode> out;
  MonoTime now{1000};
  for (const auto& [role, pause_after] : writes) {
    out.push_back({role, role, now, now + Duration::Ms(50), 1000, true});
    now = now + Duration::Ms(50 + pause_after);
  }
  return out;
}

TEST(Rhythm, TheFirstRoleThatComesAgainLeads) {
  const Rhythm rhythm = LearnRhythm(
      History({{"init", 400}, {"M", 300}, {"O", 500}, {"M", 300}, {"O", 500}, {"M", 100}}), kQuiet,
      "");
  EXPECT_EQ(rhythm.lead, "M");
  EXPECT_EQ(rhythm.cycles.size(), 3u);
  EXPECT_EQ(rhythm.together, (std::set<std::string>{"M", "O"}));
  EXPECT_TRUE(rhythm.steady);
  EXPECT_TRUE(rhythm.restless);
}

TEST(Rhythm, OneRoundIsNoRhythm) {
  EXPECT_FALSE(LearnRhythm(History({{"M", 300}, {"O", 500}, {"M", 300}}), kQuiet, "").steady);
  EXPECT_TRUE(
      LearnRhythm(History({{"M", 300}, {"O", 500}, {"M", 300}, {"O", 500}, {"M", 1}}), kQuiet, "")
          .steady);
}

TEST(Rhythm, ClearPausesOverruleTheOrder) {
  // M was written once at the start; each checkpoint is O, M.
  std::vector<std::pair<std::string, int>> writes = {{"M", 5000}};
  for (int i = 0; i < 6; ++i) {
    writes.emplace_back("O", 20);
    writes.emplace_back("M", 5000);
  }
  for (const int pause : {20, 100}) {
    for (auto& write : writes) write.second = write.second < 5000 ? pause : 5000;
    const Rhythm rhythm = LearnRhythm(History(writes), kQuiet, "M");
    EXPECT_EQ(rhythm.cycles.back().episodes.front().role, "O") << pause;
    EXPECT_EQ(rhythm.cycles.back().episodes.size(), 2u) << pause;
    EXPECT_FALSE(rhythm.restless) << pause;
  }
}

TEST(Rhythm, WhileThePausesOnlyHintTheRhythmIsNotSteady) {
  const Rhythm rhythm = LearnRhythm(
      History({{"M", 900}, {"O", 20}, {"M", 900}, {"O", 20}, {"M", 900}, {"O", 20}, {"M", 900}}),
      kQuiet, "");
  EXPECT_FALSE(rhythm.steady);
}

// Of files that are written into a new folder at once, hints come in any order.
TEST(Rhythm, WhatIsWrittenAtOnceHasNoOrder) {
  for (const char* first : {"A", "B", "C"}) {
    std::vector<std::pair<std::string, int>> writes;
    for (const std::string lead : {"A", "A", "B", first, "A", "C"}) {
      writes.emplace_back(lead, 0);
      for (const char* other : {"A", "B", "C"}) {
        if (other != lead) writes.emplace_back(other, 0);
      }
      writes.back().second = 1300;
    }
    const Rhythm rhythm = LearnRhythm(History(writes), kQuiet, "");
    EXPECT_EQ(rhythm.cycles.size(), 6u) << first;
    EXPECT_TRUE(rhythm.steady) << first;
    for (const Cycle& cycle : rhythm.cycles) EXPECT_EQ(cycle.roles.size(), 3u) << first;
  }
}

TEST(Rhythm, SavesWithoutAPauseArePartedAtTheirLead) {
  std::vector<std::pair<std::string, int>> writes;
  for (int i = 0; i < 5; ++i) {
    writes.emplace_back("A", 0);
    writes.emplace_back("B", 10);
  }
  const Rhythm rhythm = LearnRhythm(History(writes), kQuiet, "");
  EXPECT_EQ(rhythm.lead, "A");
  EXPECT_EQ(rhythm.cycles.size(), 5u);
}

TEST(Rhythm, OptionalFilesAreNotExpected) {
  const Rhythm rhythm = LearnRhythm(
      History({{"M", 100}, {"B", 3000}, {"M", 100}, {"B", 3000}, {"M", 3000}, {"M", 10}}), kQuiet,
      "");
  EXPECT_EQ(rhythm.together, (std::set<std::string>{"M"}));
  EXPECT_FALSE(rhythm.steady);
}

TEST(Rhythm, PartedPauses) {
  const auto ms = [](std::initializer_list<int> values) {
    std::vector<Duration> out;
    for (int value : values) out.push_back(Duration::Ms(value));
    return out;
  };
  EXPECT_EQ(PartingPause(ms({100, 120})), Duration{});
  EXPECT_EQ(PartingPause(ms({100, 300, 700, 450, 90, 600, 220})), Duration{});
  const Duration parted = PartingPause(ms({5, 5, 900, 5, 5, 950, 5, 5}));
  EXPECT_GT(parted, Duration::Ms(10));
  EXPECT_LT(parted, Duration::Ms(900));
  // One long pause among many is an accident.
  EXPECT_EQ(PartingPause(ms({200, 210, 190, 200, 9000, 205, 200, 195, 205, 210})), Duration{});
  // Every fifth one is not.
  EXPECT_GT(PartingPause(ms({9, 9, 9, 9, 9, 800, 9, 9, 9, 9, 9, 800, 9, 9, 9, 9, 9, 800})),
            Duration{});
}

TEST(Rhythm, ANewRhythmTakesOver) {
  std::vector<std::pair<std::string, int>> writes = {{"A", 300}, {"A", 300}, {"A", 300}};
  for (int i = 0; i < 8; ++i) writes.emplace_back("B", 300);
  EXPECT_EQ(LearnRhythm(History(writes), kQuiet, "A").lead, "B");
}

TEST(Names, Roles) {
  EXPECT_EQ(WithoutNumbers("epoch=12-step=340.ckpt"), "epoch=#-step=#.ckpt");
  EXPECT_EQ(LastNumber("epoch=12-step=340.ckpt"), 340);
  EXPECT_EQ(LastNumber("latest"), -1);
  EXPECT_TRUE(IsStream("runs/events.out.tfevents.17.host.1"));
  EXPECT_FALSE(IsStream("model.pt"));
}

TEST(Pointers, PointForwardOrIntoWhatIsLeftOut) {
  const std::set<std::string> units = {"step-100", "step-200", "latest"};
  EXPECT_FALSE(PointsOutside("step-200\n", units, {}));
  EXPECT_FALSE(PointsOutside("step-50", units, {}));  // cleared away long ago
  EXPECT_TRUE(PointsOutside("step-300", units, {}));
  EXPECT_TRUE(PointsOutside("path/to/step-100x", units, {"step-100x"}));
  EXPECT_FALSE(PointsOutside("epoch 17", units, {}));
  // The folder that it names had not been listed yet.
  EXPECT_TRUE(PointsOutside("step-10", {"latest"}, {"step-5"}));
}

}  // namespace
}  // namespace stoker
