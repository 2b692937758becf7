// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/batch.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stoker::node {
namespace {

std::vector<MetricSeries> Taken(MetricBatch& batch) {
  std::vector<MetricSeries> all;
  EXPECT_TRUE(batch
                  .Take([&](const MetricSeries& one) {
                    all.push_back(one);
                    return Status::Ok();
                  })
                  .ok());
  return all;
}

TEST(MetricBatch, GivesWhatIsNewOnceByName) {
  MetricBatch batch;
  batch.OnPoint("loss", {7, 0.5, WallTime{3}});
  batch.OnPoint("acc", {std::nullopt, 0.25, {}});
  batch.OnPoint("acc", {std::nullopt, std::nan(""), {}});
  EXPECT_EQ(batch.waiting(), 3);
  const auto first = Taken(batch);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].name, "acc");
  EXPECT_TRUE(first[0].ordered);
  ASSERT_EQ(first[0].entries.size(), 2U);
  EXPECT_EQ(first[0].entries[1].first_step, 1);
  EXPECT_TRUE(std::isnan(first[0].entries[1].last));
  EXPECT_EQ(first[1].entries[0].first_step, 7);
  EXPECT_EQ(first[1].entries[0].first_time.ms, 3);
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(Taken(batch).empty());
  batch.OnPoint("acc", {std::nullopt, 1, {}});
  EXPECT_EQ(Taken(batch)[0].entries[0].first_step, 2);
}

// However much waits: in the bounds of a segment, and nothing of it lost.
TEST(MetricBatch, OfManyPointsTheExtremesStay) {
  constexpr int64_t kMany = 100'000;
  MetricBatch batch;
  for (int64_t i = 0; i < kMany; ++i) {
    const double value = i == 777 ? -5 : i == 778 ? std::nan("") : i == 50'000 ? 9 : 1;
    batch.OnPoint("loss", {i, value, WallTime{i}});
  }
  const auto all = Taken(batch);
  ASSERT_EQ(all.size(), 1U);
  const std::vector<metrics::Entry>& entries = all[0].entries;
  EXPECT_LE(entries.size(), metrics::kWhole + metrics::kBuckets);
  metrics::Totals totals;
  for (const metrics::Entry& entry : entries) totals.Add(entry);
  EXPECT_EQ(totals.count, kMany);
  EXPECT_EQ(totals.nans, 1);
  EXPECT_EQ(totals.min, -5);
  EXPECT_EQ(totals.min_step, 777);
  EXPECT_EQ(totals.max, 9);
  EXPECT_EQ(totals.max_step, 50'000);
  for (size_t i = entries.size() - metrics::kWhole; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].count, 1);
    EXPECT_EQ(entries[i].first_step, kMany - static_cast<int64_t>(entries.size() - i));
  }
}

TEST(MetricBatch, WhatIsNotTakenIsGoneAllTheSame) {
  MetricBatch batch;
  batch.OnPoint("a", {1, 1, {}});
  batch.OnPoint("b", {1, 1, {}});
  int asked = 0;
  const Status taken = batch.Take([&](const MetricSeries&) {
    ++asked;
    return Status(Code::kInternal, "no");
  });
  EXPECT_TRUE(taken.Is(Code::kInternal));
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(Taken(batch).empty());
}

}  // namespace
}  // namespace stoker::node
