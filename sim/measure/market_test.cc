// SPDX-License-Identifier: Apache-2.0
#include "sim/measure/market.h"

#include <gtest/gtest.h>

#include <string>

namespace stoker::sim {
namespace {

constexpr int64_t kMinute = 60'000;

TEST(Trace, IsReadFromText) {
  const auto trace = ParseTrace(
      R"({"metadata": {"gap_seconds": 195, "what": 1}, "data": [0, 1, 3], "x": 0})", "t");
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  EXPECT_EQ(trace->gap_ms, 195'000);
  EXPECT_EQ(trace->available, (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(trace->length_ms(), 585'000);
}

TEST(Trace, BadOnesAreRefusedWithTheirNameAndWhere) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "not JSON"},
      {R"({"metadata": {"gap_seconds": 195}, "data": [0, 1)", "not JSON"},
      {"[]", "not a JSON object"},
      {R"({"data": [1]})", "gap_seconds is missing"},
      {R"({"metadata": 195, "data": [1]})", "gap_seconds is missing"},
      {R"({"metadata": {"gap_seconds": 0}, "data": [1]})", "gap_seconds is not"},
      {R"({"metadata": {"gap_seconds": -5}, "data": [1]})", "gap_seconds is not"},
      {R"({"metadata": {"gap_seconds": 1.5}, "data": [1]})", "gap_seconds is not"},
      {R"({"metadata": {"gap_seconds": "195"}, "data": [1]})", "gap_seconds is not"},
      {R"({"metadata": {"gap_seconds": 99999999999999999999}, "data": [1]})", "gap_seconds is not"},
      {R"({"metadata": {"gap_seconds": 18446744073709551615}, "data": [1]})", "gap_seconds is not"},
      {R"({"metadata": {"gap_seconds": 195}})", "data is missing"},
      {R"({"metadata": {"gap_seconds": 195}, "data": {"0": 1}})", "data is missing"},
      {R"({"metadata": {"gap_seconds": 195}, "data": []})", "data is empty"},
      {R"({"metadata": {"gap_seconds": 195}, "data": [1, 0, -1]})", "data[2]"},
      {R"({"metadata": {"gap_seconds": 195}, "data": [1, null]})", "data[1]"},
      {R"({"metadata": {"gap_seconds": 195}, "data": [1, 0.5]})", "data[1]"},
      {R"({"metadata": {"gap_seconds": 195}, "data": [true]})", "data[0]"},
  };
  for (const auto& [text, what] : bad) {
    const auto trace = ParseTrace(text, "a.json");
    ASSERT_EQ(trace.code(), Code::kInvalid) << text;
    EXPECT_EQ(trace.status().message().rfind("a.json: ", 0), 0u) << trace.status().message();
    EXPECT_NE(trace.status().message().find(what), std::string::npos) << trace.status().message();
  }
}

class MarketTest : public testing::Test {
 protected:
  MarketTest() { cloud.boot_low = cloud.boot_high = 1'000; }
  // "when=capacity" of each change until then.
  std::string Watch(int64_t until) {
    std::string out;
    int last = -1;
    const auto look = [&] {
      if (cloud.zones[0].capacity == last) return;
      last = cloud.zones[0].capacity;
      out += std::to_string(scheduler.now()) + "=" + std::to_string(last) + " ";
    };
    look();
    while (scheduler.next() >= 0 && scheduler.next() <= until) {
      scheduler.RunOne();
      look();
    }
    return out;
  }
  MarketPlay Play() {
    MarketPlay play;
    play.zone = "zone-a";
    return play;
  }
  std::string Launch(const std::string& token, const std::string& job = "job") {
    LaunchRequest request;
    request.token = token;
    request.job = job;
    request.launches = {1};
    return CloudClient(cloud, scheduler, prng, "test", nullptr).Launch(request)->front();
  }

  Scheduler scheduler;
  Prng prng{7};
  Cloud cloud{scheduler, prng};
  const Trace trace{10'000, {1, 1, 0, 0, 3}};
};

TEST_F(MarketTest, PlaysTheTraceRoundAndRound) {
  Market market(scheduler, cloud, trace, Play());
  market.Start();
  EXPECT_EQ(Watch(110'000), "0=1 20000=0 40000=3 50000=1 70000=0 90000=3 100000=1 ");
  for (int64_t when = 0; when < 100'000; when += 500) {
    EXPECT_EQ(market.CapacityAt(when), trace.available[static_cast<size_t>(when / 10'000 % 5)]);
  }
}

TEST_F(MarketTest, FromAnOffsetWithinASample) {
  MarketPlay play = Play();
  play.offset_ms = 34'000;
  Market market(scheduler, cloud, trace, play);
  market.Start();
  EXPECT_EQ(Watch(60'000), "0=0 6000=3 16000=1 36000=0 56000=3 ");
}

TEST_F(MarketTest, AnyOffsetGoesRound) {
  for (const int64_t round : {-50'000'000, 50'000'000}) {
    MarketPlay play = Play();
    play.offset_ms = 34'000 + round;
    Market market(scheduler, cloud, trace, play);
    market.Start();
    EXPECT_EQ(market.CapacityAt(scheduler.now() + 5'999), 0);
    EXPECT_EQ(market.CapacityAt(scheduler.now() + 6'000), 3);
  }
}

TEST_F(MarketTest, FasterSlowerAndForMoreMachines) {
  MarketPlay play = Play();
  play.percent = 50;
  play.times = 4;
  Market market(scheduler, cloud, trace, play);
  market.Start();
  EXPECT_EQ(Watch(30'000), "0=4 10000=0 20000=12 25000=4 ");
  play.percent = 333;  // no whole milliseconds: still what CapacityAt says
  Market odd(scheduler, cloud, {7, {0, 1, 2}}, play);
  market.Stop();
  odd.Start();
  const int64_t end = scheduler.now() + 1'000;
  while (scheduler.next() >= 0 && scheduler.next() <= end) {
    scheduler.RunOne();
    EXPECT_EQ(cloud.zones[0].capacity, odd.CapacityAt(scheduler.now())) << scheduler.now();
  }
  EXPECT_GT(scheduler.now(), end - 30);
}

TEST_F(MarketTest, AConstantTraceNeedsNoEvents) {
  Market market(scheduler, cloud, {1'000, {2, 2, 2}}, Play());
  market.Start();
  EXPECT_EQ(cloud.zones[0].capacity, 2);
  EXPECT_EQ(scheduler.next(), -1);
}

TEST_F(MarketTest, StoppedOrDestroyedItChangesNothing) {
  {
    Market market(scheduler, cloud, trace, Play());
    market.Start();
    market.Start();  // the first one's events are void
  }
  Market other(scheduler, cloud, trace, Play());
  other.Start();
  other.Stop();
  EXPECT_EQ(Watch(1'000'000), "0=1 ");
  EXPECT_EQ(scheduler.next(), -1);
}

TEST_F(MarketTest, TakesMachinesWithItsLead) {
  MarketPlay play = Play();
  play.lead = 5'000;
  Market market(scheduler, cloud, trace, play);
  market.Start();
  const std::string id = Launch("t1");
  Watch(20'000);
  ASSERT_TRUE(cloud.Find(id)->notice.has_value());
  EXPECT_EQ(cloud.Find(id)->notice->until.ms, kEpochMs + 25'000);
  Watch(25'000);
  EXPECT_EQ(cloud.Find(id)->gone_at, 25'000);
}

TEST_F(MarketTest, SaysHowMuchOfATimeItWasOpen) {
  Market market(scheduler, cloud, trace, Play());
  market.Start();
  EXPECT_EQ(market.OpenShare(0, 50'000, 1), 600);
  EXPECT_EQ(market.OpenShare(0, 5'000'000, 2), 200);
  EXPECT_EQ(market.OpenShare(15'000, 25'000, 1), 500);
  EXPECT_EQ(market.OpenShare(0, 50'000, 4), 0);
  EXPECT_EQ(market.OpenShare(5, 5, 1), 0);
}

TEST_F(MarketTest, BillsWhatRan) {
  const std::string a = Launch("a");
  const std::string b = Launch("b");
  Launch("c", "other");
  cloud.faults.never_boots = 1000;
  const std::string dud = Launch("dud");
  Watch(10 * kMinute);
  const Price price{3'600'000, false, 60'000};  // a thousand micro-dollars a second
  scheduler.At(11 * kMinute, [&] {
    cloud.End(a, "power off");            // ran 659 s
    cloud.StopAndStart(b, 10 * kMinute);  // ran 659 s, then not for 601 s
    cloud.End(dud, "power off");          // never ran
  });
  scheduler.At(30 * kMinute, [] {});
  Watch(30 * kMinute);
  MarketReport report = Bill(cloud, scheduler.now(), "job", price);
  EXPECT_EQ(report.machines, 3);
  EXPECT_EQ(report.machine_seconds, 659 + (1799 - 601));
  EXPECT_EQ(report.cost_micro_dollars, report.machine_seconds * 1000);
  EXPECT_EQ(Bill(cloud, scheduler.now(), "", price).machine_seconds, report.machine_seconds + 1799);
  // From the request on: 660 + 1800 + 660.
  EXPECT_EQ(Bill(cloud, scheduler.now(), "job", {1, true, 0}).machine_seconds, 3120);
}

TEST_F(MarketTest, AShortLifeCostsAMinute) {
  const std::string id = Launch("a");
  scheduler.At(1'500, [] {});
  Watch(1'500);
  cloud.End(id, "power off");
  EXPECT_EQ(Bill(cloud, scheduler.now(), "job", {3'600, false, 60'000}).cost_micro_dollars, 60);
  EXPECT_EQ(Bill(cloud, scheduler.now(), "job", {3'600, false, 0}).machine_seconds, 1);
}

TEST(MarketRow, IsALineUnderItsHead) {
  MarketReport report;
  report.label = "us-east-1a, 120 s";
  report.machines = 7;
  report.machine_seconds = 7'200;
  report.cost_micro_dollars = 12'345'678;
  report.restarts = 6;
  report.lost_work_ms = 90'000;
  report.finish_ms = 3 * 3'600'000;
  const std::string row = MarketRow(report);
  EXPECT_EQ(row.size(), MarketHead().size());
  EXPECT_EQ(row.rfind("us-east-1a, 120 s  ", 0), 0u);
  for (const char* part : {" 3h ", " $12.3456 ", " 7 ", " 2h ", " 6 ", " 1m 30s"}) {
    EXPECT_NE((row + " ").find(part), std::string::npos) << part << " in " << row;
  }
  report.finish_ms = -1;
  EXPECT_NE(MarketRow(report).find(" never "), std::string::npos);
}

}  // namespace
}  // namespace stoker::sim
