// SPDX-License-Identifier: Apache-2.0
#include "sim/measure/market_play.h"

#include <gtest/gtest.h>

#include <string>

namespace stoker::sim {
namespace {

constexpr int64_t kOneHour = 3'600'000;

// Two hours of training in steps of a minute, a checkpoint each ten.
MarketSetting Setting(int nodes) {
  MarketSetting setting;
  setting.label = "test";
  setting.job.nodes = nodes;
  setting.job.train_ms = 2 * kOneHour;
  setting.job.step_ms = 60'000;
  setting.limit_ms = 48 * kOneHour;
  setting.price.micro_dollars_per_hour = 3'600'000;  // a thousand a second
  return setting;
}

// An hour open, half an hour shut, again and again.
Trace OnAndOff() { return {1'800'000, {1, 1, 0}}; }

}  // namespace

// Named as ctest shows it.
TEST(sim, market) {
  for (const int nodes : {1, 2, 4}) {
    SCOPED_TRACE(nodes);
    MarketSetting setting = Setting(nodes);
    const MarketOutcome calm = PlayMarket(setting);
    EXPECT_FALSE(calm.breach.has_value()) << calm.breach->what;
    EXPECT_EQ(calm.state, "Succeeded");
    EXPECT_EQ(calm.report.machines, nodes);
    EXPECT_EQ(calm.report.restarts, 0);
    EXPECT_EQ(calm.report.lost_work_ms, 0);
    EXPECT_EQ(calm.stood_still_ms, 0);
    EXPECT_EQ(calm.open_share, 1000);
    EXPECT_GT(calm.report.finish_ms, 2 * kOneHour);
    EXPECT_LT(calm.report.finish_ms, 2 * kOneHour + 240'000) << "boot, setup, start, end";
    EXPECT_GE(calm.report.machine_seconds, nodes * 7'200);
    EXPECT_EQ(calm.report.cost_micro_dollars, calm.report.machine_seconds * 1'000);

    setting.zones = {{"zone-a", OnAndOff()}};
    const MarketOutcome one = PlayMarket(setting);
    EXPECT_FALSE(one.breach.has_value()) << one.breach->what;
    EXPECT_EQ(one.state, "Succeeded");
    EXPECT_EQ(one.report.restarts, 2) << "taken after 60 and after 150 minutes";
    EXPECT_EQ(one.report.machines, 3 * nodes);
    EXPECT_GT(one.report.lost_work_ms, 0);
    EXPECT_LE(one.report.lost_work_ms, 2 * nodes * 660'000) << "one checkpoint each time";
    EXPECT_GT(one.report.finish_ms, 3 * kOneHour);
    EXPECT_LT(one.report.finish_ms, 4 * kOneHour);
    EXPECT_GE(one.stood_still_ms, 2 * 1'680'000) << "half an hour each time, less the notice";
    EXPECT_GT(one.report.cost_micro_dollars, calm.report.cost_micro_dollars);

    // Where one zone is shut the other is open: nobody waits for the market.
    setting.zones.push_back({"zone-b", {1'800'000, {0, 1, 1}}});
    const MarketOutcome two = PlayMarket(setting);
    EXPECT_FALSE(two.breach.has_value()) << two.breach->what;
    EXPECT_EQ(two.state, "Succeeded");
    EXPECT_EQ(two.open_share, 1000);
    EXPECT_GE(two.report.restarts, 1);
    EXPECT_LT(two.stood_still_ms, two.report.restarts * 300'000);
    EXPECT_LT(two.report.finish_ms, one.report.finish_ms);
  }
}

TEST(MarketPlay, TheSameSeedGivesTheSameLife) {
  MarketSetting setting = Setting(2);
  setting.zones = {{"zone-a", OnAndOff()}};
  setting.seed = 5;
  const MarketOutcome first = PlayMarket(setting);
  const MarketOutcome second = PlayMarket(setting);
  EXPECT_EQ(first.report.finish_ms, second.report.finish_ms);
  EXPECT_EQ(first.report.machine_seconds, second.report.machine_seconds);
  EXPECT_EQ(first.report.lost_work_ms, second.report.lost_work_ms);
  setting.offset_ms = 1'500'000;
  EXPECT_NE(PlayMarket(setting).report.finish_ms, first.report.finish_ms);
}

TEST(MarketPlay, AMarketThatNeverOpensIsWaitedFor) {
  MarketSetting setting = Setting(1);
  setting.zones = {{"zone-a", {60'000, {0}}}};
  setting.limit_ms = 6 * kOneHour;
  const MarketOutcome outcome = PlayMarket(setting);
  EXPECT_EQ(outcome.report.finish_ms, -1);
  EXPECT_EQ(outcome.report.cost_micro_dollars, 0);
  EXPECT_EQ(outcome.state, "Waiting");
  EXPECT_EQ(outcome.open_share, 0);
  // everything-ends is what cannot hold here.
  ASSERT_TRUE(outcome.breach.has_value());
  EXPECT_EQ(outcome.breach->rule, "everything-ends");
}

}  // namespace stoker::sim
