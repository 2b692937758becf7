// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "metrics/rules/rule_watch.h"

namespace stoker::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// As it is printed again; "" = as it stands.
struct Good {
  const char* text;
  const char* again;
};
const Good kGood[] = {
    {"loss is not finite", ""},
    {"  loss\tis   not finite ", "loss is not finite"},
    {"train/loss is above 10", ""},
    {"val_acc is below 0.2 after step 1000", ""},
    {"val_loss does not fall for 500 steps", ""},
    {"val_loss does not fall by more than 1e-3 for 1 steps",
     ""
     "val_loss does not fall by more than 0.001 for 1 step"},
    {"acc does not rise by more than 0 for 120 seconds", "acc does not rise for 2 minutes"},
    {"acc does not rise for 90 minutes", ""},
    {"acc does not rise for 7200 seconds", "acc does not rise for 2 hours"},
    {"loss does not fall in the first 20 points", ""},
    {"loss grows 5 times over its minimum", ""},
    {"loss is above the median of runs of this name", ""},
    {"acc is below the  median of runs of this name after step 9",
     "acc is below the median of runs of this name after step 9"},
    {"gradients vanish", ""},
    {"gradients explode", ""},
    {"'gradients' vanishes", ""},
    {"my_norm explodes", ""},
    {"'train loss' is not finite", ""},
    {"\"it's here\" is not finite", ""},
    {"it's is not finite", ""},
    {"'loss' is not finite", "loss is not finite"},
    {"*loss is below -1.5", ""},
    {"v\xc3\xa4l is above 1", ""},
};

TEST(Rules, EachSentenceHasOneForm) {
  for (const Good& good : kGood) {
    const ParsedRule parsed = ParseRule(good.text);
    ASSERT_TRUE(parsed.rule) << good.text << ": " << parsed.message;
    const std::string text = RuleText(*parsed.rule);
    EXPECT_EQ(text, *good.again == 0 ? good.text : good.again);
    EXPECT_EQ(ParseRule(text).rule, parsed.rule) << text;
  }
}

struct Bad {
  const char* text;
  size_t column;
  const char* message;
};
const Bad kBad[] = {
    {"", 1, "the name of a metric is expected, not the end"},
    {"loss", 5,
     "'is', 'does not', 'grows', 'vanishes' or 'explodes' is expected after 'loss', not"},
    {"train loss is not finite", 7, "'explodes' is expected after 'train', not 'loss'"},
    {"loss is nan", 9, "'not finite', 'above' or 'below' is expected after 'is', not 'nan'"},
    {"loss is not", 12, "'finite' is expected after 'not', not the end"},
    {"loss is above high", 15, "a number, or 'the median of runs of this name', is expected"},
    {"loss is above nan", 15, "is expected after 'above', not 'nan'"},
    {"loss is above the mean", 19, "'median' is expected after 'the', not 'mean'"},
    {"loss is above 1 after 10", 23, "'step' is expected after 'after', not '10'"},
    {"loss is above 1 after step 1.5", 28, "the number of a step is expected"},
    {"loss is above 1 after step -1", 28, "the number of a step is expected"},
    {"loss is above 1 now", 17, "'after' is expected after '1', not 'now'"},
    {"loss is not finite now", 20, "the end of the rule is expected after 'finite', not 'now'"},
    {"loss does fall", 11, "'not' is expected after 'does', not 'fall'"},
    {"loss does not drop", 15, "'fall' or 'rise' is expected after 'not', not 'drop'"},
    {"loss does not fall", 19, "'by more than', 'for' or 'in the first' is expected"},
    {"loss does not fall by 1 for 2 steps", 23, "'more' is expected after 'by', not '1'"},
    {"loss does not fall by more than -1 for 2 steps", 33, "not less than 0 is expected"},
    {"loss does not fall for 0 steps", 24, "a number of steps, points, seconds,"},
    {"loss does not fall for 10", 26, "'steps', 'points', 'seconds', 'minutes' or 'hours'"},
    {"loss does not fall for 9007199254740992 hours", 24, "so long a time"},
    {"loss does not fall in first 5 steps", 23, "'the' is expected after 'in', not 'first'"},
    {"loss grows 1 times over its minimum", 12, "a number above 1 is expected"},
    {"loss grows 5 times", 19, "'over' is expected after 'times', not the end"},
    {"'train loss is not finite", 1, "a quote that is not closed"},
    {"'train'loss is not finite", 8, "a quote ends within a word"},
    {"v\xc3\xa4l is nan", 8, "not 'nan'"},
    {"loss is \x1b[31m", 1, "what is no text"},
    {"\xff", 1, "what is no text"},
};

TEST(Rules, WhatIsWrongHasItsColumn) {
  for (const Bad& bad : kBad) {
    const ParsedRule parsed = ParseRule(bad.text);
    EXPECT_FALSE(parsed.rule) << bad.text;
    EXPECT_EQ(parsed.column, bad.column) << bad.text << ": " << parsed.message;
    EXPECT_NE(parsed.message.find(bad.message), std::string::npos)
        << bad.text << ": " << parsed.message;
  }
  EXPECT_FALSE(ParseRule(std::string(kMaxRuleText + 1, 'a')).rule);
}

// Points at steps 0, 10, 20, …, a second apart.
struct Case {
  const char* rule;
  std::vector<double> values;
  int fires_at;  // index of the point that proves it; -1 = none
  const char* why = "";
};

const Case kCases[] = {
    {"loss is not finite", {1, 2, kNan}, 2, "loss is not finite: nan at step 20"},
    {"loss is not finite", {1, HUGE_VAL, 1}, 1, "inf at step 10"},
    {"loss is not finite", {1, 1e300, -1e300}, -1},
    {"other is not finite", {kNan}, -1},
    {"l?s* is not finite", {kNan}, 0, "l?s* is not finite: loss: nan at step 0"},
    {"loss is above 3", {3, 4}, 1, "4 at step 10"},
    {"loss is above 3 after step 10", {4, 4, 4}, 2, "4 at step 20"},
    {"loss is above 3", {kNan, 3}, -1},
    {"loss is below -1", {0, -1, -1.5}, 2, "-1.5 at step 20"},
    {"loss does not fall for 30 steps", {5, 4, 4, 4, 4}, 4, "4 at step 10, 4 at step 40"},
    {"loss does not fall for 30 steps", {5, 4, 5, 5, 3.9, 5, 5}, -1},
    {"loss does not fall by more than 1 for 30 steps", {5, 4.5, 4.2, 4.1}, 3, "5 at step 0"},
    {"loss does not fall by more than 1 for 30 steps", {5, 4.5, 4.2, 3.9, 3.8, 3.7}, -1},
    {"loss does not fall for 2 points", {5, 4, 6, 6}, 3},
    {"loss does not fall for 3 seconds", {5, 4, 6, 6, 6}, 4},
    {"loss does not fall for 20 steps", {kNan, kNan, kNan}, 2, "never finite"},
    {"loss does not rise for 30 steps", {1, 2, 1, 1, 1}, 4, "2 at step 10, 1 at step 40"},
    {"loss does not rise for 30 steps", {1, 2, 3, 4, 5}, -1},
    {"loss does not fall in the first 40 steps", {2, 2, 1, 3, 2, 9}, 4, "2 at first, 2 at step 40"},
    {"loss does not fall in the first 40 steps", {2, 2, 1, 3, 1.9, 9}, -1},
    {"loss does not fall by more than 0.5 in the first 2 points", {2, 1.8, 0}, 1},
    {"loss does not fall in the first 20 steps", {2, 1, kNan}, 2, "not finite at step 20"},
    {"loss does not fall in the first 20 steps", {kNan, 1, 2}, -1},
    {"loss does not rise in the first 2 seconds", {2, 1, 2}, 2},
    {"loss grows 5 times over its minimum", {10, 2, 9.9, 10.1}, 3, "2 at step 10, 10.1 at step 30"},
    {"loss grows 5 times over its minimum", {0, -1, 100}, -1},
    {"loss grows 5 times over its minimum", {1, HUGE_VAL}, 1, "inf at step 10"},
};

TEST(Rules, WhatProvesThem) {
  for (const Case& test : kCases) {
    const auto rule = ParseRule(test.rule);
    ASSERT_TRUE(rule.rule) << test.rule;
    RuleWatch watch({*rule.rule});
    int fired = -1;
    std::string why;
    for (size_t i = 0; i < test.values.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      watch.Take("loss", false, EntryOf(at * 10, WallTime{1'000'000 + at * 1000}, test.values[i]));
      for (const Verdict& verdict : watch.TakeVerdicts()) {
        EXPECT_EQ(fired, -1) << "each once";
        fired = static_cast<int>(i);
        why = verdict.text;
      }
    }
    EXPECT_EQ(fired, test.fires_at) << test.rule << " " << why;
    EXPECT_NE(why.find(test.why), std::string::npos) << why;
  }
}

int FiresAt(const char* rule, const char* series, const std::vector<double>& values) {
  RuleWatch watch({*ParseRule(rule).rule});
  for (size_t i = 0; i < values.size(); ++i) {
    watch.Take(series, false, EntryOf(static_cast<int64_t>(i), WallTime{}, values[i]));
    if (!watch.TakeVerdicts().empty()) return static_cast<int>(i);
  }
  return -1;
}

TEST(Rules, Gradients) {
  std::vector<double> small(30, 1e-9);
  EXPECT_EQ(FiresAt("gradients vanish", "train/grad_norm", small), 19);
  EXPECT_EQ(FiresAt("gradients vanish", "grad_2.0_norm_total", small), 19);
  EXPECT_EQ(FiresAt("gradients vanish", "loss", small), -1);
  EXPECT_EQ(FiresAt("loss vanishes", "loss", small), 19);
  small[10] = 0.1;
  EXPECT_EQ(FiresAt("gradients vanish", "grad_norm", small), -1);
  std::vector<double> usual(15, 1.0);
  usual.insert(usual.end(), {2000, 1, 2000, 3000, 1, kNan, HUGE_VAL, 1, 5000, 1e9, kNan});
  EXPECT_EQ(FiresAt("gradients explode", "grad_norm", usual), 25);
  EXPECT_EQ(FiresAt("gradients explode", "grad_norm", {1, 1e6, 1e9, 1e12, 1}), -1)
      << "nothing is known of what is usual";
  EXPECT_EQ(FiresAt("gradients explode", "grad_norm", {kNan, kNan, kNan}), 2);
}

// A long first span holds no more than so many numbers, and decides the same.
TEST(Rules, ManyPoints) {
  std::vector<double> falling;
  std::vector<double> flat;
  for (int i = 0; i < 100'001; ++i) {
    falling.push_back(2 + (i % 7) - i * 1e-4);
    flat.push_back(2 + (i % 7));
  }
  EXPECT_EQ(FiresAt("a does not fall in the first 100000 steps", "a", falling), -1);
  EXPECT_EQ(FiresAt("a does not fall by more than 0.01 in the first 100000 steps", "a", flat),
            100'000);
}

// What comes after an epoch does not show how training began.
TEST(Rules, TheBeginningIsSeenOrNotJudged) {
  const auto judged = [](const char* other, int64_t points_before, int64_t ms_before,
                         bool earlier) -> std::string {
    RuleWatch watch({*ParseRule("val_acc does not rise in the first 3 steps").rule});
    EXPECT_TRUE(watch.WantsBeginnings());
    int64_t now = 1'000'000;
    std::vector<CurveEntry> before;
    for (int64_t step = 0; step < points_before; ++step) {
      const Entry entry = EntryOf(step, WallTime{now += ms_before}, 1);
      if (earlier) {
        before.push_back({entry, 1, false});
      } else {
        watch.Take(other, false, entry);
      }
    }
    if (earlier) watch.SetEarlier(other, before);
    for (int64_t epoch = 0; epoch < 5; ++epoch) {
      watch.Take("val_acc", false, EntryOf(epoch, WallTime{now += 1000}, 0.97));
    }
    const auto verdicts = watch.TakeVerdicts();
    const auto notes = watch.TakeNotes();
    EXPECT_EQ(verdicts.size() + notes.size(), 1U);
    return verdicts.empty() ? notes.at(0) : "fires";
  };
  EXPECT_EQ(judged("loss", 0, 1, false), "fires");
  EXPECT_EQ(judged("loss", 9, 1, false), "fires") << "it begins with the training";
  EXPECT_EQ(judged("step_time", 50, 1, false), "fires") << "which says nothing of it";
  for (const bool earlier : {false, true}) {
    EXPECT_EQ(
        judged("train/Loss", 10, 1, earlier),
        "val_acc does not rise in the first 3 steps: not judged: val_acc begins when training "
        "is under way, by train/Loss");
  }
  EXPECT_NE(judged("loss", 10, 0, false), "fires") << "of the same moment, the order counts";
}

// A file that is read later than another one is not of later.
TEST(Rules, TheBeginningIsByTheTimesOfThePoints) {
  RuleWatch watch({*ParseRule("loss does not fall in the first 3 steps").rule});
  for (int64_t step = 0; step < 20; ++step) {
    watch.Take("val_loss", false, EntryOf(step, WallTime{1'000'000 + step * 100}, 1));
  }
  for (int64_t step = 0; step < 20; ++step) {
    watch.Take("loss", false, EntryOf(step, WallTime{1'000'000 + step * 10}, 1));
  }
  EXPECT_EQ(watch.TakeVerdicts().size(), 1U);
}

// Without a rule about the beginning nobody has to know of it.
TEST(Rules, BeginningsMatterToSome) {
  EXPECT_FALSE(RuleWatch({*ParseRule("loss is not finite").rule}).WantsBeginnings());
}

CurveEntry Before(int attempt, int64_t step, double value) {
  return {EntryOf(step, WallTime{1'000'000 + step * 1000}, value), attempt, false};
}

TEST(Rules, AttemptsAreOneCurve) {
  const auto fires = [](int64_t begin, bool ordered) -> int64_t {
    RuleWatch watch({*ParseRule("loss does not fall for 10 steps").rule});
    std::vector<CurveEntry> earlier;
    for (int64_t step = 0; step < 8; ++step) earlier.push_back(Before(1, step, 10.0 - step));
    watch.SetEarlier("loss", earlier);
    for (int64_t step = begin; step < begin + 30; ++step) {
      watch.Take("loss", ordered, EntryOf(step, WallTime{}, 6.5));
      if (!watch.TakeVerdicts().empty()) return step;
    }
    return -1;
  };
  EXPECT_EQ(fires(8, false), 17) << "the least is 3 at step 7";
  EXPECT_EQ(fires(5, false), 14) << "from step 5 on it is done again: the least is 6 at step 4";
  EXPECT_EQ(fires(0, true), 9) << "numbered on from 8";
}

TEST(Rules, TimeBetweenAttemptsIsNoTraining) {
  RuleWatch watch({*ParseRule("loss does not fall for 10 seconds").rule});
  std::vector<CurveEntry> earlier;
  for (int64_t step = 0; step < 5; ++step) earlier.push_back(Before(1, step, 1));
  watch.SetEarlier("loss", earlier);
  int64_t fired = -1;
  for (int64_t step = 5; step < 30 && fired < 0; ++step) {
    watch.Take("loss", false, EntryOf(step, WallTime{9'000'000 + step * 1000}, 1));
    if (!watch.TakeVerdicts().empty()) fired = step;
  }
  EXPECT_EQ(fired, 11) << "4 seconds before, 6 seconds after";
}

OtherRuns Others(const std::vector<std::vector<double>>& runs) {
  OtherRuns others;
  for (const auto& values : runs) {
    std::vector<CurveEntry> curve;
    for (size_t i = 0; i < values.size(); ++i) {
      curve.push_back(Before(1, static_cast<int64_t>(i), values[i]));
    }
    others.Add("loss", curve);
  }
  return others;
}

TEST(Rules, WorseThanTheMedianOfOtherRuns) {
  const auto steady = [](double first, double then, size_t points) {
    std::vector<double> values(points, then);
    values[0] = first;
    return values;
  };
  // Their means by step 5 are 2, 4, 6 and 8; one of them comes no further than step 1.
  const OtherRuns others = Others(
      {steady(7, 1, 6), steady(9, 3, 6), steady(11, 5, 6), steady(13, 7, 6), steady(100, 100, 2)});
  EXPECT_FALSE(others.At("loss", 6)) << "none has come so far";
  EXPECT_FALSE(others.At("acc", 5));
  EXPECT_EQ(others.At("loss", 5)->value, 5);
  EXPECT_EQ(others.At("loss", 5)->runs, 4U);
  EXPECT_EQ(others.At("loss", 0)->value, 11) << "all five";
  EXPECT_FALSE(Others({{1}, {2}}).At("loss", 0)) << "too few";
  const auto fires = [&](const char* rule, const std::vector<double>& values) {
    RuleWatch watch({*ParseRule(rule).rule});
    watch.SetOthers(others);
    std::string why;
    for (size_t i = 0; i < values.size(); ++i) {
      watch.Take("loss", false, EntryOf(static_cast<int64_t>(i), WallTime{}, values[i]));
      for (const Verdict& verdict : watch.TakeVerdicts()) why = verdict.text;
    }
    return why;
  };
  const char* above = "loss is above the median of runs of this name";
  EXPECT_EQ(fires(above, {50, 50, 50, 50, 50}),
            "loss is above the median of runs of this name: 50 at best by step 4, the median of 4 "
            "runs is 5.2");
  EXPECT_EQ(fires(above, {50, 50, 50, 50}), "") << "too early";
  EXPECT_EQ(fires(above, {5, 50, 50, 50, 50, 50}), "") << "the best counts";
  EXPECT_NE(fires(above, {kNan, kNan, kNan, kNan, kNan}), "");
  EXPECT_EQ(
      fires("loss is above the median of runs of this name after step 4", {99, 99, 99, 99, 5}), "");
  EXPECT_NE(fires("loss is above the median of runs of this name after step 0", {99, 99}), "");
  EXPECT_NE(fires("loss is below the median of runs of this name", {1, 1, 1, 1, 1}), "");
  EXPECT_EQ(fires("loss is below the median of runs of this name", {6, 0, 0, 0, 0, 0}), "");
}

TEST(Rules, IdleOnesAreKnown) {
  RuleWatch watch({*ParseRule("los is not finite").rule, *ParseRule("loss is not finite").rule});
  watch.Take("loss", false, EntryOf(0, WallTime{}, 1));
  EXPECT_EQ(watch.Idle(), std::vector<size_t>{0});
  EXPECT_TRUE(watch.Wants("los"));
  EXPECT_FALSE(watch.Wants("lo"));
}

}  // namespace
}  // namespace stoker::metrics
