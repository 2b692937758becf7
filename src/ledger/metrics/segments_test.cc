// SPDX-License-Identifier: Apache-2.0
#include "ledger/metrics/segments.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/metric_totals.h"
#include "store/counted.h"
#include "store/memory_store.h"

namespace stoker {
namespace {

MetricSeries Points(const std::string& name, int64_t from, int64_t count) {
  MetricSeries series{name, false, {}};
  for (int64_t i = from; i < from + count; ++i) {
    series.entries.push_back(metrics::EntryOf(i, WallTime{i * 1000}, static_cast<double>(i) / 3));
  }
  return series;
}

MetricHead HeadAt(int64_t line) {
  MetricHead head;
  head.log_line = line;
  head.sources.push_back({"csv", "metrics.csv", "", 10, 2, 3, {}, ""});
  return head;
}

Status Write(MetricWriter& writer, const MetricHead& head, const std::vector<MetricSeries>& all) {
  STOKER_TRY(writer.Add(head, all));
  return writer.Send();
}

TEST(Segment, EveryNumberComesBackAsItWas) {
  MetricSeries series{"x\n\x1b", true, {}};
  for (const double value : {0.1, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300, 5e-324, -0.0}) {
    series.entries.push_back(metrics::EntryOf(-3, WallTime{7}, value));
  }
  series.entries.push_back(metrics::Joined(series.entries[0], series.entries[4]));
  const auto back = DecodeMetricSeries(EncodeMetricSeries(series));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->name, series.name);
  EXPECT_TRUE(back->ordered);
  EXPECT_EQ(back->entries[0].last, 0.1);
  EXPECT_TRUE(std::isnan(back->entries[1].last));
  EXPECT_EQ(back->entries[3].min, -HUGE_VAL);
  EXPECT_EQ(back->entries[5].last, 5e-324);
  EXPECT_EQ(back->entries[7].count, 2);
  EXPECT_EQ(back->entries[7].max, 1e300);
  MetricSeries floats{"f", false, {metrics::EntryOf(1, {}, static_cast<double>(0.1F))}};
  const std::string text = EncodeMetricSeries(floats);
  EXPECT_NE(text.find("[0.1]"), std::string::npos) << text;
  EXPECT_EQ(DecodeMetricSeries(text)->entries[0].last, static_cast<double>(0.1F));
}

TEST(Segments, AreMergedAndReadOnce) {
  MemoryStore store;
  MetricWriter writer(store, "j", 1, 0);
  ASSERT_TRUE(writer.Begin().ok());
  for (int64_t i = 0; i < 70; ++i) {
    ASSERT_TRUE(Write(writer, HeadAt(i), {Points("loss", i * 10, 10), Points("a", i, 1)}).ok());
    ASSERT_TRUE(writer.Merge().ok());
  }
  ASSERT_TRUE(writer.Merge().ok());  // what was merged last goes
  const auto map = ListMetricSegments(store, "j");
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->at({1, 0}).segments().size(), 1U + 6U);  // 64 and six of one
  const auto run = ReadMetrics(store, "j", 0, {});
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(run->troubles.empty());
  EXPECT_EQ(run->heads.at(1).log_line, 69);
  const auto& entries = run->series.at("loss")[0].entries;
  ASSERT_EQ(entries.size(), 700U);
  for (int64_t i = 0; i < 700; ++i) EXPECT_EQ(entries[static_cast<size_t>(i)].first_step, i);
  MetricWriter next(store, "j", 1, 0);
  const auto head = next.Begin();
  ASSERT_TRUE(head.ok() && head->has_value());
  EXPECT_EQ((*head)->log_line, 69);
  EXPECT_EQ(next.next(), 71);
}

TEST(Segments, ALostAnswerWritesNothingTwice) {
  MemoryStore memory;
  MetricWriter writer(memory, "j", 1, 0);
  ASSERT_TRUE(writer.Begin().ok());
  ASSERT_TRUE(writer.Add(HeadAt(1), {Points("loss", 0, 5)}).ok());
  MetricWriter same(memory, "j", 1, 0);
  ASSERT_TRUE(same.Begin().ok());
  ASSERT_TRUE(Write(same, HeadAt(1), {Points("loss", 0, 5)}).ok());
  EXPECT_TRUE(writer.Send().ok());  // the very same is there
  ASSERT_TRUE(writer.Add(HeadAt(2), {Points("loss", 5, 5)}).ok());
  ASSERT_TRUE(Write(same, HeadAt(2), {Points("loss", 5, 6)}).ok());
  EXPECT_TRUE(writer.Send().Is(Code::kConflict));
  EXPECT_EQ(ReadMetrics(memory, "j", 0, {})->series.at("loss")[0].entries.size(), 11U);
}

TEST(Segments, WhatIsDamagedIsSaidAndTheRestRead) {
  MemoryStore store;
  MetricWriter writer(store, "j", 1, 0);
  ASSERT_TRUE(writer.Begin().ok());
  for (int64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(Write(writer, HeadAt(i), {Points("loss", i, 1)}).ok());
  }
  ASSERT_TRUE(store.Put(MetricSegmentKey("j", 1, 0, 2, 1), "not zstd").ok());
  const auto run = ReadMetrics(store, "j", 0, {});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->troubles.size(), 1U);
  EXPECT_EQ(run->series.at("loss")[0].entries.size(), 2U);
}

// What docs/metrics.md says of a run of ten hours in a bucket, which is flushed each half minute.
TEST(Segments, ARunOfTenHoursCostsABoundedNumberOfRequests) {
  constexpr int64_t kFlushes = 1200;
  MemoryStore memory;
  CountedStore store(memory);
  MetricWriter writer(store, "j", 1, 0);
  ASSERT_TRUE(writer.Begin().ok());
  for (int64_t i = 0; i < kFlushes; ++i) {
    ASSERT_TRUE(Write(writer, HeadAt(i), {Points("loss", i * 4, 4)}).ok());
    ASSERT_TRUE(writer.Merge().ok());
  }
  EXPECT_LE(store.counts().all() / 10, 440);  // an hour
  EXPECT_LE(ListMetricSegments(memory, "j")->at({1, 0}).segments().size(), 40U);
}

TEST(MetricTotals, AnAttemptBegunAgainIsNotCountedTwice) {
  MetricTotals totals;
  totals.BeginAttempt(1);
  totals.newest["loss"].Add(1, {}, 5);
  totals.BeginAttempt(2);
  totals.newest["loss"].Add(2, {}, 3);
  totals.BeginAttempt(2);
  totals.newest["loss"].Add(2, {}, std::nan(""));
  const auto back = DecodeMetricTotals("k", EncodeMetricTotals(totals));
  ASSERT_TRUE(back.ok());
  const auto all = back->All();
  EXPECT_EQ(all.at("loss").count, 2);
  EXPECT_EQ(all.at("loss").min, 5);
  EXPECT_TRUE(std::isnan(all.at("loss").last));
}

}  // namespace
}  // namespace stoker
