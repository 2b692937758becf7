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

// The names and sources of what counts, and how many points.
std::string Counting(MetricBatch& batch) {
  std::string text;
  for (const MetricSeries& one : Taken(batch)) {
    text += one.name + "@" + one.source + "=" + std::to_string(one.entries.size()) + " ";
  }
  return text;
}

void Give(MetricBatch& batch, const std::string& source, const std::string& name, int64_t from,
          int64_t to, double slope = 1, bool bar = false) {
  batch.set_source("", source);
  for (int64_t i = from; i < to; ++i) {
    batch.OnPoint(name, {i, slope * static_cast<double>(i), WallTime{i}, false, -1, bar});
  }
}

TEST(MetricBatch, ABetterSourceSetsTheLogAside) {
  MetricBatch batch;
  std::string forgotten;
  batch.set_watcher([&](const std::string& name, bool, const metrics::Entry* entry, const auto&) {
    if (entry == nullptr) forgotten += name + " ";
  });
  Give(batch, "log", "Train Loss", 0, 5);
  Give(batch, "log", "acc", 0, 5);
  Give(batch, "log", "it", 0, 5, 1, true);
  Give(batch, "tensorboard:", "train/loss", 0, 3);
  EXPECT_EQ(forgotten, "Train Loss it ");
  Give(batch, "log", "Train Loss", 5, 9);
  Give(batch, "log", "loss", 5, 9);
  Give(batch, "log", "rate", 5, 9, 1, true);
  EXPECT_EQ(batch.waiting(), 8);
  EXPECT_EQ(Counting(batch), "acc@log=5 train/loss@tensorboard:=3 ");
  EXPECT_EQ(batch.Totals().size(), 2U);
  EXPECT_EQ(batch.TakeNotes().size(), 4U);
  // A later attempt knows it before the better one comes.
  MetricBatch later;
  later.set_aside(batch.aside());
  Give(later, "log", "Train Loss", 5, 9);
  EXPECT_TRUE(later.empty());
}

// An attempt begins where it goes on, not at a line that was printed before it had loaded anything.
TEST(MetricBatch, AStepBeforeTheLoadIsNoBegin) {
  MetricBatch batch;
  batch.set_restored(true);
  Give(batch, "log", "val loss", 0, 1);
  EXPECT_TRUE(batch.empty());
  for (const int64_t step : {510, 520, 530}) Give(batch, "log", "loss", step, step + 1);
  EXPECT_EQ(batch.begins().at("log").step, 510);
  EXPECT_EQ(Counting(batch), "loss@log=3 ");
  EXPECT_EQ(batch.TakeNotes().at(0).stray, 0);
  // One that does begin anew does.
  MetricBatch anew;
  anew.set_restored(true);
  for (const int64_t step : {0, 500, 1000}) Give(anew, "log", "loss", step, step + 1);
  EXPECT_EQ(anew.begins().at("log").step, 0);
  EXPECT_EQ(Counting(anew), "loss@log=3 ");
  // Too little was said to know: at the end it counts.
  MetricBatch little;
  little.set_restored(true);
  Give(little, "log", "loss", 0, 2);
  little.Settle();
  EXPECT_EQ(Counting(little), "loss@log=2 ");
}

TEST(MetricBatch, TwoFilesThatSayTheSameAreOne) {
  for (const bool table_first : {true, false}) {
    MetricBatch batch;
    batch.set_several(true);
    for (const bool table : {table_first, !table_first}) {
      Give(batch, table ? "csv:" : "tensorboard:", "loss", 0, 20);
    }
    batch.Settle();
    EXPECT_EQ(Counting(batch), "loss@tensorboard:=20 ");
  }
}

TEST(MetricBatch, TwoFilesThatSayOtherThingsAreToldApart) {
  for (const bool table_first : {true, false}) {
    MetricBatch batch;
    batch.set_several(true);
    batch.set_apart([](const std::string& better, const std::string& worse) {
      return "not " + better + " but " + worse;
    });
    for (const int64_t from : {0, 20}) {
      for (const bool table : {table_first, !table_first}) {
        Give(batch, table ? "csv:" : "tensorboard:", "loss", from, from + 20, table ? 2 : 1);
      }
    }
    EXPECT_EQ(Counting(batch), "loss@tensorboard:=40 not tensorboard: but csv:/loss@csv:=40 ");
    EXPECT_EQ(batch.Totals().at("loss").max, 39);
  }
}

TEST(MetricBatch, WhatCouldNotBeComparedIsTwo) {
  MetricBatch batch;
  batch.set_several(true);
  Give(batch, "tensorboard:", "loss", 0, 1);
  Give(batch, "csv:", "loss", 1, 3);
  EXPECT_EQ(batch.waiting(), 1);
  batch.Settle();
  EXPECT_EQ(Counting(batch), "csv:/loss@csv:=2 loss@tensorboard:=1 ");
}

}  // namespace
}  // namespace stoker::node
