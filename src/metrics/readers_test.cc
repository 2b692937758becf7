// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "metrics/csv_rows.h"
#include "metrics/log_lines.h"
#include "metrics/numbers.h"
#include "test/kit/metric_sink.h"

namespace stoker::metrics {
namespace {

constexpr WallTime kNow{1'700'000'000'000};

TestSink Printed(const std::vector<std::string>& lines, std::vector<Pattern> patterns = {}) {
  LogLines reader(std::move(patterns));
  TestSink sink;
  for (const std::string& line : lines) reader.Record(0, false, line, kNow, sink);
  reader.Finish(sink);
  return sink;
}

TEST(Numbers, AreReadAsProgramsPrintThem) {
  EXPECT_EQ(ParseNumber("-3e-4"), -3e-4);
  EXPECT_EQ(ParseNumber("+2"), 2.0);
  EXPECT_TRUE(std::isnan(*ParseNumber("NaN")));
  EXPECT_EQ(ParseNumber("-Infinity"), -HUGE_VAL);
  EXPECT_EQ(ParseNumber("1e999"), HUGE_VAL);
  EXPECT_EQ(ParseNumber("1e-999"), 0.0);
  for (const char* text : {"", "+", "+-1", "1 ", "0x10", "1,5", "nano"}) {
    EXPECT_FALSE(ParseNumber(text)) << text;
  }
}

TEST(Csv, ReadsLightningsTable) {
  CsvReader reader;
  TestSink sink;
  const std::string text =
      "epoch,step,train_loss,\"val,loss\"\r\n0,49,0.5,\r\n\r\n0,99,,nan\r\n1,149,0.25,0.1";
  for (const char c : text) reader.Feed(std::string(1, c), kNow, sink);
  ASSERT_EQ(sink.points["train_loss"].size(), 1U);  // the last row has not ended
  EXPECT_EQ(*sink.points["train_loss"][0].step, 49);
  EXPECT_TRUE(std::isnan(sink.points["val,loss"][0].value));
  EXPECT_EQ(sink.points["epoch"].size(), 2U);
  EXPECT_EQ(sink.points.count("step"), 0U);
  reader.Feed("\n", kNow, sink);
  EXPECT_EQ(sink.points["train_loss"].size(), 2U);
}

TEST(Csv, ATableWrittenAnewGivesNoRowTwice) {
  CsvReader reader(2);
  TestSink sink;
  reader.Feed("step,a,b\n1,1,\n2,2,\n3,3,9\n", kNow, sink);
  EXPECT_EQ(sink.points["a"].size(), 1U);
  EXPECT_EQ(*sink.points["b"][0].step, 3);
}

TEST(Csv, ATableBegunAnewGivesWhatItHadNot) {
  CsvReader first;
  TestSink sink;
  first.Feed("step,a\n1,1\n2,2\n", kNow, sink);
  // A column was added in the middle: the same rows, and one more.
  CsvReader wider(first.TakeRows());
  wider.Feed("step,b,a\n1,,1\n2,,2\n3,9,3\n", kNow, sink);
  EXPECT_TRUE(!wider.again() && wider.rows() == 3);
  EXPECT_EQ(sink.points["a"].size(), 3U);
  EXPECT_EQ(sink.points["b"].size(), 1U);
  // Another table under its name.
  CsvReader another(wider.TakeRows());
  another.Feed("step,a\n4,1\n2,2\n", kNow, sink);
  EXPECT_EQ(sink.points["a"].size(), 5U);
}

TEST(Csv, AMarkOrASecondHeaderHidesNothing) {
  CsvReader reader;
  TestSink sink;
  reader.Feed("\xef\xbb\xbfstep,a\r\n1,1\r\nstep,a,b\r\n2,2,3\r\n3,4,5,6\r\n", kNow, sink);
  EXPECT_EQ(*sink.points["a"][0].step, 1);
  EXPECT_EQ(sink.points["a"].size(), 3U);
  EXPECT_EQ(*sink.points["b"][0].step, 2);
  EXPECT_EQ(reader.nameless(), 1);
}

TEST(Csv, AQuoteThatNeverEndsHidesOneRow) {
  CsvReader reader;
  TestSink sink;
  reader.Feed("step,a\n1,\"" + std::string(3 << 20, 'x') + "\n2,5\n", kNow, sink);
  EXPECT_EQ(reader.damaged(), 1);
  EXPECT_EQ(sink.points["a"].size(), 1U);
}

TEST(LogLines, FindsJsonWithNansAndOneLevelDown) {
  TestSink sink = Printed({R"({"step": 3, "loss": NaN, "eval": {"acc": 0.5}, "note": "NaN"})",
                           R"({"level": "info", "port": 8080})", R"({"a": 1, "b": 2})"});
  EXPECT_TRUE(std::isnan(sink.points["loss"][0].value));
  EXPECT_EQ(*sink.points["eval/acc"][0].step, 3);
  EXPECT_EQ(sink.points.count("port"), 0U);
  EXPECT_EQ(sink.points.count("note"), 0U);
  EXPECT_FALSE(sink.points["a"][0].step);
}

TEST(LogLines, FindsTheDictsOfTrainer) {
  TestSink sink = Printed({"{'loss': 0.5, 'learning_rate': 5e-05, 'epoch': 1.0}",
                           "{'loss': '0.4', 'grad_norm': nan, 'epoch': '1.5'}", "{'a': {'b': 1}}",
                           "{'not': closed"});
  ASSERT_EQ(sink.points["loss"].size(), 2U);
  EXPECT_FALSE(sink.points["loss"][0].step);
  EXPECT_EQ(sink.points["epoch"].size(), 2U);
  EXPECT_TRUE(std::isnan(sink.points["grad_norm"][0].value));
  EXPECT_EQ(sink.points.count("b"), 0U);
}

TEST(LogLines, FindsTheLastStateOfKerasLines) {
  TestSink sink = Printed(
      {"Epoch 1/2", " 1/10 [>....] - ETA: 1s - loss: 2.0\r10/10 [====] - 1s 5ms/step - loss: 1.0",
       "10/10 [====] - 1s 5ms/step - loss: 1.0 - val_loss: 0.9", "Epoch 2/2",
       "\x1b[1m10/10\x1b[0m \x1b[32m━━\x1b[0m \x1b[1m1s\x1b[0m 5ms/step - acc: 0.5 - loss: 0.8"});
  ASSERT_EQ(sink.points["loss"].size(), 2U);
  EXPECT_EQ(*sink.points["val_loss"][0].step, 1);
  EXPECT_EQ(*sink.points["loss"][1].step, 2);
  EXPECT_EQ(sink.points["acc"][0].value, 0.5);
}

TEST(LogLines, FindsLinesThatCount) {
  TestSink sink = Printed(
      {"epoch 1/20  loss: 2.1109  accuracy: 0.6518", "step=7 lr=1e-4, n=3", "Epochs are long: 5"});
  EXPECT_EQ(*sink.points["loss"][0].step, 1);
  EXPECT_EQ(sink.points["accuracy"][0].value, 0.6518);
  EXPECT_EQ(sink.points["lr"][0].value, 1e-4);
  EXPECT_EQ(sink.points["loss"].size(), 1U);
}

TEST(LogLines, PatternsAreAllThatCountsWhereThereAreAny) {
  std::vector<Pattern> patterns = {*Pattern::Make("train:loss", "loss=([0-9.]+)"),
                                   *Pattern::Make("never", "(x+x+)+y")};
  TestSink sink = Printed(
      {"step 4 loss=0.25 lr=1", std::string(60'000, 'x'), "{\"step\":1,\"a\":1}"}, patterns);
  EXPECT_EQ(*sink.points["train:loss"][0].step, 4);
  EXPECT_EQ(sink.points.size(), 1U);
}

TEST(LogLines, ALineGoesOnInTheNextRecord) {
  LogLines reader({});
  TestSink sink;
  reader.Record(0, true, R"({"step": 1, )", kNow, sink);
  reader.Record(1, false, R"({"step": 9, "b": 1})", kNow, sink);
  reader.Record(0, false, R"("a": 2})", kNow, sink);
  EXPECT_EQ(sink.points["a"][0].value, 2);
  EXPECT_EQ(*sink.points["b"][0].step, 9);
}

TEST(Patterns, WhatRe2DoesNotKnowIsSaid) {
  EXPECT_FALSE(Pattern::Make("a", "loss(?=x)").ok());
  EXPECT_FALSE(Pattern::Make("a", "loss").ok());
  EXPECT_FALSE(Pattern::Make("a", "(").ok());
}

TEST(SeriesName, LongOnesStayApart) {
  const std::string one = SeriesName(std::string(1 << 20, 'a') + "1");
  const std::string two = SeriesName(std::string(1 << 20, 'a') + "2");
  EXPECT_LE(one.size(), kMaxName);
  EXPECT_NE(one, two);
}

}  // namespace
}  // namespace stoker::metrics
