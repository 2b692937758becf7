// SPDX-License-Identifier: Apache-2.0
#include "metrics/event_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <vector>

#include "metrics/event_writer.h"
#include "test/kit/metric_sink.h"

namespace stoker::metrics {
namespace {

std::string Little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string Framed(const std::string& body) {
  const std::string length = Little(body.size(), 8);
  return length + Little(MaskedCrc32c(length), 4) + body + Little(MaskedCrc32c(body), 4);
}

std::string Scalar(const std::string& tag, int64_t step, float value) {
  std::string value_text;
  protozero::pbf_writer one(value_text);
  one.add_string(1, tag);
  one.add_float(2, value);
  std::string summary_text;
  protozero::pbf_writer(summary_text).add_message(1, value_text);
  std::string event_text;
  protozero::pbf_writer event(event_text);
  event.add_double(1, 1700000000.5);
  event.add_int64(2, step);
  event.add_message(5, summary_text);
  return event_text;
}

// Byte for byte as above, which TensorBoard's writers make; test/metrics/board.py has its reader.
TEST(EventFile, IsWrittenAsItIsRead) {
  EXPECT_EQ(ScalarRecord(1700000000.5, 7, "loss", 0.25), Framed(Scalar("loss", 7, 0.25F)));
  const std::string file = EventFileBegin(1) + ScalarRecord(1700000000, 1, "a/b", std::nan("")) +
                           SessionStartRecord(1700000001, 1) +
                           ScalarRecord(1700000001, 1, "a/b", 2);
  EventFileReader reader;
  TestSink sink;
  ASSERT_TRUE(reader.Feed(file, sink));
  EXPECT_EQ(reader.records(), 4);
  EXPECT_EQ(reader.damaged(), 0);
  ASSERT_EQ(sink.points["a/b"].size(), 2U);
  EXPECT_TRUE(std::isnan(sink.points["a/b"][0].value));
}

TEST(EventFile, ReadsScalarsHoweverTheBytesAreCut) {
  std::string file;
  for (int i = 0; i < 50; ++i) file += Framed(Scalar("loss", i, 1.0F / static_cast<float>(i)));
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{64}, file.size()}) {
    EventFileReader reader;
    TestSink sink;
    for (size_t at = 0; at < file.size(); at += piece) {
      ASSERT_TRUE(reader.Feed(std::string_view(file).substr(at, piece), sink));
    }
    const std::vector<Point>& loss = sink.points["loss"];
    ASSERT_EQ(loss.size(), 50U);
    EXPECT_TRUE(std::isinf(loss[0].value));
    EXPECT_EQ(*loss[49].step, 49);
    EXPECT_EQ(loss[49].value, static_cast<double>(1.0F / 49.0F));
    EXPECT_EQ(loss[49].time.ms, 1700000000500);
    EXPECT_EQ(reader.offset(), static_cast<int64_t>(file.size()));
  }
}

TEST(EventFile, AnotherReaderGoesOnAtTheLastWholeRecord) {
  const std::string whole = Framed(Scalar("a", 1, 1)) + Framed(Scalar("a", 2, 2));
  EventFileReader first;
  TestSink sink;
  first.Feed(std::string_view(whole).substr(0, whole.size() - 3), sink);
  EXPECT_EQ(sink.points["a"].size(), 1U);
  EventFileReader second(first.offset());
  second.Feed(std::string_view(whole).substr(static_cast<size_t>(first.offset())), sink);
  EXPECT_EQ(sink.points["a"].size(), 2U);
}

TEST(EventFile, PassesOverADamagedRecordAndStopsAtADamagedLength) {
  std::string wrong = Framed(Scalar("a", 1, 1));
  wrong[20] ^= 1;
  EventFileReader reader;
  TestSink sink;
  EXPECT_TRUE(reader.Feed(wrong + Framed(Scalar("a", 2, 2)), sink));
  EXPECT_EQ(reader.damaged(), 1);
  EXPECT_EQ(sink.points["a"].size(), 1U);
  std::string lost = Framed(Scalar("a", 3, 3));
  lost[0] ^= 1;
  EXPECT_FALSE(reader.Feed(lost, sink));
  EXPECT_TRUE(reader.broken());
}

TEST(EventFile, PassesOverImagesWithoutHoldingThem) {
  const std::string image = Framed(std::string(6 << 20, 'x'));
  EventFileReader reader;
  TestSink sink;
  for (size_t at = 0; at < image.size(); at += 100'000) {
    reader.Feed(std::string_view(image).substr(at, 100'000), sink);
  }
  reader.Feed(Framed(Scalar("a", 2, 2)), sink);
  EXPECT_EQ(reader.passed_over(), 1);
  EXPECT_EQ(reader.damaged(), 0);
  EXPECT_EQ(sink.points["a"].size(), 1U);
}

TEST(EventFile, BytesThatAreNoEventAreDamaged) {
  EventFileReader reader;
  TestSink sink;
  EXPECT_TRUE(reader.Feed(Framed(std::string(5, '\xff')), sink));
  EXPECT_EQ(reader.damaged(), 1);
}

}  // namespace
}  // namespace stoker::metrics
