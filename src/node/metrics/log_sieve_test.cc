// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/log_sieve.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/prng.h"
#include "ledger/log/log_record.h"
#include "metrics/log_lines.h"

namespace stoker::node {
namespace {

using Runs = std::vector<std::pair<int64_t, std::string>>;

class Points : public metrics::PointSink {
 public:
  void OnPoint(std::string_view series, const metrics::Point& point) override {
    text += std::string(series) + " " + std::to_string(point.value) + " " +
            (point.step ? std::to_string(*point.step) : "-") + "\n";
  }
  void OnHyperparameter(std::string_view, const std::string&) override {}
  std::string text;
};

Runs Sift(LogSieve& sieve, int64_t first, const std::string& records) {
  Runs runs;
  sieve.Sift(first, records, [&](int64_t line, std::string_view kept) {
    runs.emplace_back(line, std::string(kept));
  });
  return runs;
}

// As the collector reads them.
void Read(std::string_view records, metrics::LogLines* lines, Points* points) {
  for (size_t at = 0; at < records.size();) {
    const size_t end = records.find('\n', at);
    const auto record = ParseRecord(records.substr(at, end - at));
    at = end + 1;
    if (!record || record->stream == LogStream::kSystem) continue;
    lines->Record(record->stream == LogStream::kErr ? 1 : 0, record->continues, record->text,
                  record->time, *points);
  }
}

// A burst is looked at, all of it; what goes on faster than can be looked at, once a millisecond.
TEST(LogSieve, OfTooManyLinesAlikeTheLastOfAMillisecondIsKept) {
  const auto line = [](int64_t ms, int64_t step, const std::string& name) {
    return std::to_string(ms) + " o step " + std::to_string(step) + " " + name + " 0." +
           std::to_string(step % 97) + "\n";
  };
  LogSieve sieve(false);
  std::string burst;
  for (int64_t i = 0; i < LogSieve::kBurst; ++i) burst += line(1000, i, "loss");
  EXPECT_EQ(Sift(sieve, 1, burst), (Runs{{1, burst}}));
  EXPECT_EQ(sieve.left_out(), 0);
  int64_t at = LogSieve::kBurst + 1;
  const std::string other = line(1000, 3, "accuracy");
  EXPECT_EQ(Sift(sieve, at, line(1000, 1, "loss") + line(1000, 2, "loss") + other),
            (Runs{{at + 1, line(1000, 2, "loss") + other}}));
  // A millisecond later there is room for one; then the last of it, and what is of the next.
  std::string more, kept;
  for (int64_t i = 0; i < 9; ++i) more += line(1001, i, "loss");
  const std::string last = line(1001, 8, "loss") + line(1011, 1, "loss");
  EXPECT_EQ(Sift(sieve, at + 3, more + line(1011, 1, "loss")),
            (Runs{{at + 3, line(1001, 0, "loss")}, {at + 11, last}}));
  EXPECT_EQ(sieve.left_out(), 1 + 7);
  LogSieve all(true);
  Sift(all, 1, burst);
  EXPECT_EQ(Sift(all, at, more), (Runs{{at, more}}));
}

TEST(LogSieve, KeepsWhatMayHoldMetricsWithItsNumber) {
  LogSieve sieve(false);
  EXPECT_EQ(Sift(sieve, 7,
                 "1000 o plain words, 5 of them\n"
                 "1000 o {\"loss\": 1}\n"
                 "1001 o epoch 1: loss=2\n"
                 "1001 s epoch 1: loss=3\n"
                 "1001 o step 12 loss 0.5\n"
                 "1001 e 1/1 - loss: 4\n"),
            (Runs{{8, "1000 o {\"loss\": 1}\n1001 o epoch 1: loss=2\n"},
                  {11, "1001 o step 12 loss 0.5\n1001 e 1/1 - loss: 4\n"}}));
  EXPECT_EQ(Sift(sieve, 13, "1002 o nothing at all\n1003 o nor here\n"), Runs{});
}

TEST(LogSieve, NumbersOfAnyLengthAreAlikeAndNothingElseIs) {
  const auto crowd = [](const std::string& one, const std::string& two) {
    LogSieve sieve(false);
    std::string burst;
    for (int64_t i = 0; i < LogSieve::kBurst; ++i) burst += "1000 o step 1 loss 2\n";
    Sift(sieve, 1, burst);
    Sift(sieve, LogSieve::kBurst + 1, "1000 o " + one + "\n1000 o " + two + "\n");
    return sieve.left_out();
  };
  EXPECT_EQ(crowd("step 12345 loss 0.693147 lr 0.001", "step 12346 loss 0.593147 lr 0.002"), 1);
  EXPECT_EQ(crowd("step 9 loss 0.693147 lr 0.001", "step 10 loss -1.5 lr 0.002"), 1);
  EXPECT_EQ(crowd("step 12345 loss 0.693147 lr 0.001", "step 12345 loss 0.693147 lR 0.001"), 0);
  EXPECT_EQ(crowd("step 12345 loss 0.693147 lr 0.001", "step 12345 loss 0.693147 mse .001"), 0);
  EXPECT_EQ(crowd("step 1 loss 2 a", "step 1 loss 2 1"), 0);
  EXPECT_EQ(crowd("step 1 loss 2 a", "step 1 loss 2 aa"), 0);
}

TEST(LogSieve, APieceOfALineIsKept) {
  LogSieve sieve(false);
  EXPECT_EQ(Sift(sieve, 1, "1000 o+ epoch\n1000 e words\n1000 o  1: loss=2\n1000 o words\n"),
            (Runs{{1, "1000 o+ epoch\n"}, {3, "1000 o  1: loss=2\n"}}));
}

TEST(LogSieve, PatternsSeeEachLine) {
  LogSieve sieve(true);
  EXPECT_EQ(Sift(sieve, 1, "1000 o words\n1000 s ours\n1000 e words\n"),
            (Runs{{1, "1000 o words\n"}, {3, "1000 e words\n"}}));
}

TEST(LogSieve, LosesNothingThatIsFoundWithoutIt) {
  const std::vector<std::string> pieces = {
      "epoch",  "Step ",   "iter", "train ",  "global_step", "Epoch 3/10", "{\"loss\": 1.5",
      "}",      "{'a': 1", ", ",   "loss",    "=",           ":",          " 0.25",
      " 7",     "12/12 ",  " - ",  "loss: 2", "\r",          "\x1b[1m",    "\b",
      "words ", "\t",      "[",    "#",       "\xc5\xbf",    "acc=.5 ",    "val_loss: nan"};
  size_t found = 0;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    Prng prng(seed);
    std::string records;
    for (uint64_t i = 0, n = 1 + prng.Below(8); i < n; ++i) {
      records += std::to_string(1000 + prng.Below(3)) + " " + "ooes"[prng.Below(4)];
      records += prng.Below(8) == 0 ? "+ " : " ";
      for (uint64_t k = prng.Below(7); k > 0; --k) records += pieces[prng.Below(pieces.size())];
      records += "\n";
    }
    LogSieve sieve(false);
    metrics::LogLines all({});
    metrics::LogLines sifted({});
    Points of_all;
    Points of_sifted;
    Read(records, &all, &of_all);
    for (const auto& [line, kept] : Sift(sieve, 1, records)) Read(kept, &sifted, &of_sifted);
    all.Finish(of_all);
    sifted.Finish(of_sifted);
    ASSERT_EQ(of_sifted.text, of_all.text) << records;
    found += of_all.text.empty() ? 0 : 1;
  }
  EXPECT_GT(found, 200u);
}

}  // namespace
}  // namespace stoker::node
