// SPDX-License-Identifier: Apache-2.0
#include "ledger/metrics/segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ledger/log/log_codec.h"
#include "ledger/metrics/lines.h"
#include "ledger/metrics/merge.h"
#include "metrics/metric_totals.h"
#include "test/kit/counted.h"
#include "test/kit/memory_store.h"

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

// `all` as a writer wants them: by name.
GiveSeries Given(std::vector<MetricSeries> all) {
  std::sort(all.begin(), all.end(),
            [](const MetricSeries& a, const MetricSeries& b) { return a.name < b.name; });
  return [all](const TakeSeries& take) {
    for (const MetricSeries& one : all) STOKER_TRY(take(one));
    return Status::Ok();
  };
}

std::string Packed(const MetricHead& head, const GiveSeries& give) {
  std::string all;
  const Status packed = PackMetrics(head, give, [&](std::string_view bytes) {
    all += bytes;
    return Status::Ok();
  });
  EXPECT_TRUE(packed.ok()) << packed.ToString();
  return all;
}

Status Write(MetricWriter& writer, const MetricHead& head, const std::vector<MetricSeries>& all) {
  STOKER_TRY(writer.Add(head, Given(all)));
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
  ASSERT_TRUE(writer.Add(HeadAt(1), Given({Points("loss", 0, 5)})).ok());
  MetricWriter same(memory, "j", 1, 0);
  ASSERT_TRUE(same.Begin().ok());
  ASSERT_TRUE(Write(same, HeadAt(1), {Points("loss", 0, 5)}).ok());
  EXPECT_TRUE(writer.Send().ok());  // the very same is there
  ASSERT_TRUE(writer.Add(HeadAt(2), Given({Points("loss", 5, 5)})).ok());
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

// Also where eight segments have become one, and whichever of several attempts has the better one.
TEST(Segments, OfANameTheBestSourceCounts) {
  MemoryStore store;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    MetricWriter writer(store, "j", attempt, 0);
    ASSERT_TRUE(writer.Begin().ok());
    for (int64_t i = 0; i < static_cast<int64_t>(kMergeAt); ++i) {
      MetricSeries log = Points("loss", i, 1);
      log.source = "log";
      MetricSeries file = Points("loss", i + 100, 1);
      file.source = "tensorboard:";
      ASSERT_TRUE(Write(writer, HeadAt(i),
                        attempt == 1 && i < 4 ? std::vector{log} : std::vector{log, file})
                      .ok());
    }
    ASSERT_TRUE(writer.Merge().ok());
  }
  const auto run = ReadMetrics(store, "j", 0, {});
  ASSERT_TRUE(run.ok());
  const auto& parts = run->series.at("loss");
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].entries.size(), 4U);
  EXPECT_EQ(parts[0].entries[0].first_step, 104);
  EXPECT_EQ(parts[1].entries.size(), 8U);
  EXPECT_EQ(parts[1].source, "tensorboard:");
}

TEST(Segment, KeepsWhatTheLogShowedOfItsSeries) {
  MetricHead head = HeadAt(3);
  head.log_series = {{{"loss", "s"}}, 1, {{"/loss", 4}}};
  const auto back = DecodeMetricHead(EncodeMetricHead(head));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->log_series.names, head.log_series.names);
  EXPECT_EQ(back->log_series.first_epoch, 1);
  EXPECT_EQ(back->log_series.rounds, head.log_series.rounds);
}

TEST(Segment, ItsNameIsReadWithoutTheRest) {
  MetricSeries series{"a \"b\"\n\xc3\xa9", false, {metrics::EntryOf(1, {}, 2)}};
  EXPECT_EQ(MetricSeriesKey(EncodeMetricSeries(series)), SeriesKey(series.name, series.source));
  EXPECT_EQ(MetricSeriesKey(R"({"step":[1,{"name":"no"}],"x":{"name":"no"},"name":"yes"})").first,
            "yes");
  for (const char* none : {"", "[]", "{}", "{\"name\":1}", "{\"name\":[\"x\"]}", "{\"name\":{}}",
                           "[{\"name\":\"x\"}]", "{\"name\"", "\"name\""}) {
    EXPECT_EQ(MetricSeriesKey(none).first, "") << none;
  }
}

// As earlier builds wrote them: with the window of logs.
TEST(Segment, LargerWindowsAreRead) {
  LogCompressor packer;
  ASSERT_TRUE(packer.Add(EncodeMetricHead(HeadAt(3))).ok());
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += EncodeMetricSeries(Points("loss" + std::to_string(i), i, 1000));
  }
  ASSERT_GT(text.size(), 1U << 20);
  ASSERT_TRUE(packer.Add(text).ok());
  MetricLines lines(*packer.Finish());
  std::string back;
  for (auto line = lines.Next(); line.ok() && *line; line = lines.Next()) {
    back += std::string(**line) + "\n";
  }
  EXPECT_EQ(back, EncodeMetricHead(HeadAt(3)) + text);
}

// A segment of as many series as a node may have, with all that one may hold of each; it is read in
// pieces, and each piece is noted.
class InPieces {
 public:
  InPieces(std::string bytes, std::vector<InPieces>* all) : bytes_(std::move(bytes)), all_(all) {}
  ReadPacked Reader(size_t self) {
    return [all = all_, self](char* buffer, int64_t size) {
      InPieces& me = (*all)[self];
      const size_t got = std::min(static_cast<size_t>(size), me.bytes_.size() - me.at_);
      memcpy(buffer, me.bytes_.data() + me.at_, got);
      me.at_ += got;
      // How far it is ahead of who is least far, once all have begun.
      size_t least = me.at_;
      for (const InPieces& other : *all) least = std::min(least, other.at_);
      if (least > 0) me.ahead_ = std::max(me.ahead_, me.at_ - least);
      return Result<int64_t>(static_cast<int64_t>(got));
    };
  }
  size_t size() const { return bytes_.size(); }
  size_t ahead() const { return ahead_; }
  bool over() const { return at_ == bytes_.size(); }

 private:
  std::string bytes_;
  std::vector<InPieces>* all_;
  size_t at_ = 0;
  size_t ahead_ = 0;
};

// What packs badly.
MetricSeries Noise(const std::string& name, int64_t from, int64_t count, uint64_t* seed) {
  MetricSeries series = Points(name, from, count);
  for (metrics::Entry& entry : series.entries) {
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    entry = metrics::EntryOf(entry.first_step, entry.first_time,
                             static_cast<float>(*seed >> 40) / static_cast<float>(1 << 24));
  }
  return series;
}

TEST(Merge, ReadsAllSegmentsSideBySide) {
  constexpr int kSeries = 20;
  constexpr int64_t kPoints = 2000;
  uint64_t seed = 1;
  std::vector<InPieces> pieces;
  std::vector<MergePart> parts;
  for (int64_t i = 0; i < 8; ++i) {
    std::vector<MetricSeries> all;
    for (int k = 0; k < kSeries; ++k) {
      all.push_back(Noise("s" + std::to_string(k), i * kPoints, kPoints, &seed));
    }
    MetricHead head = HeadAt(i);
    head.first = i + 1;
    pieces.emplace_back(Packed(head, Given(std::move(all))), &pieces);
  }
  for (size_t i = 0; i < 8; ++i) parts.push_back({"part", pieces[i].Reader(i)});
  std::string merged;
  size_t most = 0;
  const Status done = MergeMetricSegments(std::move(parts), [&](std::string_view bytes) {
    merged += bytes;
    most = std::max(most, bytes.size());
    return Status::Ok();
  });
  ASSERT_TRUE(done.ok()) << done.ToString();
  EXPECT_LT(most, 100U << 10);  // what comes out is given away as it comes
  for (const InPieces& piece : pieces) {
    EXPECT_TRUE(piece.over());
    ASSERT_GT(piece.size(), 80U << 10);
    EXPECT_LE(piece.ahead(), 32U << 10);  // of more series it would be no more
  }
  MetricLines lines(merged);
  const auto head = DecodeMetricHead(*lines.Next().value());
  EXPECT_EQ(head->first, 1);
  EXPECT_EQ(head->flushes, 8);
  EXPECT_EQ(head->log_line, 7);
  std::string before;
  for (int k = 0; k < kSeries; ++k) {
    const auto line = lines.Next();
    ASSERT_TRUE(line.ok() && *line);
    const auto series = DecodeMetricSeries(**line);
    EXPECT_LT(before, series->name);
    before = series->name;
    int64_t points = 0;
    for (const metrics::Entry& entry : series->entries) points += entry.count;
    EXPECT_EQ(points, 8 * kPoints);
    EXPECT_LE(series->entries.size(), metrics::kWhole + metrics::kBuckets);
  }
  EXPECT_FALSE(*lines.Next());
}

// Else each flush would read eight segments in vain.
TEST(Segments, WhatIsDamagedIsTriedOnce) {
  MemoryStore memory;
  CountedStore store(memory);
  MetricWriter writer(store, "j", 1, 0);
  ASSERT_TRUE(writer.Begin().ok());
  int failed = 0;
  for (int64_t i = 0; i < 24; ++i) {
    ASSERT_TRUE(Write(writer, HeadAt(i), {Points("loss", i, 1)}).ok());
    if (i == 3) {
      ASSERT_TRUE(memory.Put(MetricSegmentKey("j", 1, 0, 3, 1), "not zstd").ok());
    }
    const Status merged = writer.Merge();
    failed += merged.ok() ? 0 : 1;
    EXPECT_TRUE(merged.ok() || merged.Is(Code::kCorrupt)) << merged.ToString();
  }
  EXPECT_EQ(failed, 1);
  EXPECT_LE(store.counts().get, 24);
  ASSERT_TRUE(writer.Merge().ok());
  EXPECT_EQ(ListMetricSegments(memory, "j")->at({1, 0}).segments().size(), 8U + 2U);
  const auto run = ReadMetrics(memory, "j", 0, {});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->series.at("loss")[0].entries.size(), 23U);
  EXPECT_EQ(run->troubles.size(), 1U);
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
