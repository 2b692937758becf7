// SPDX-License-Identifier: Apache-2.0
#include "ledger/log/log_record.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "ledger/log/log_codec.h"

namespace stoker {
namespace {

TEST(LogRecord, IsReadableText) {
  EXPECT_EQ(RecordHeader({1763739845123}, LogStream::kOut, false) + "hello",
            "1763739845123 o hello");
  EXPECT_EQ(RecordHeader({1763739845123}, LogStream::kErr, true) + "hel", "1763739845123 e+ hel");
  std::optional<RecordView> view = ParseRecord("1763739845123 e+  + o ");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->time.ms, 1763739845123);
  EXPECT_EQ(view->stream, LogStream::kErr);
  EXPECT_TRUE(view->continues);
  EXPECT_EQ(view->text, " + o ");
  view = ParseRecord("0 s ");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->text, "");
}

TEST(LogRecord, RefusesWhatIsNoRecord) {
  for (const char* bad :
       {"", "1", "1 ", "1 o", "1 o+", "1 x text", "1  o text", "-1 o text", "x o text", " 1 o text",
        "1 o-text", "99999999999999999999 o t", "99999999999999999 o t", "1\to text"}) {
    EXPECT_FALSE(ParseRecord(bad)) << bad;
  }
}

TEST(LogRecord, SegmentKeysAreExact) {
  const std::string key = SegmentKey("job-1", 2, 3, 41, 100);
  EXPECT_EQ(key, "jobs/job-1/log/2-3/000000000041-100.zst");
  std::optional<LogSegment> segment = ParseSegmentKey("job-1", key);
  ASSERT_TRUE(segment);
  EXPECT_EQ(segment->attempt, 2);
  EXPECT_EQ(segment->rank, 3);
  EXPECT_EQ(segment->first, 41);
  EXPECT_EQ(segment->end(), 141);
  EXPECT_FALSE(ParseSegmentKey("job-2", key));
  EXPECT_TRUE(ParseSegmentKey("j", SegmentKey("j", 1, 0, 1, kMaxLogLine - 1)));
  EXPECT_FALSE(ParseSegmentKey("j", SegmentKey("j", 1, 0, 2, kMaxLogLine - 1)));
}

TEST(LogCodec, RoundTripAndRandomBytesAreRefused) {
  std::string raw;
  for (int i = 0; i < 5000; ++i) {
    raw += RecordHeader({i}, LogStream::kOut, false) + std::to_string(i * 7919) + "\n";
  }
  LogCompressor compressor;
  for (size_t at = 0; at < raw.size(); at += 100) {
    ASSERT_TRUE(compressor.Add(std::string_view(raw).substr(at, 100)).ok());
  }
  Result<std::string> packed = compressor.Finish();
  ASSERT_TRUE(packed.ok());
  EXPECT_LT(packed->size(), raw.size() / 2);
  // Frames one after another are one segment too, as zstd -dc has it.
  SegmentDecoder decoder(*packed + *packed, 10'000);
  std::string again;
  while (true) {
    Result<std::optional<RecordView>> record = decoder.Next();
    ASSERT_TRUE(record.ok()) << record.status().ToString();
    if (!record->has_value()) break;
    again += decoder.raw();
  }
  EXPECT_EQ(again, raw + raw);
  EXPECT_EQ(decoder.raw_bytes(), static_cast<int64_t>(again.size()));
  for (int64_t lines : {4999, 5001}) {
    SegmentDecoder wrong(*packed, lines);
    Result<std::optional<RecordView>> record = wrong.Next();
    while (record.ok() && record->has_value()) record = wrong.Next();
    EXPECT_EQ(record.code(), Code::kCorrupt) << lines;
  }
  Prng prng(1);
  for (int i = 0; i < 2000; ++i) {
    std::string noise = i % 2 == 0 ? packed->substr(0, 40) : "";
    while (noise.size() < 200) noise += static_cast<char>(prng.Below(256));
    SegmentDecoder garbage(noise, 10);
    Result<std::optional<RecordView>> record = garbage.Next();
    for (int k = 0; k < 20 && record.ok(); ++k) record = garbage.Next();
    ASSERT_EQ(record.code(), Code::kCorrupt);
  }
  SegmentDecoder empty("", 1);
  EXPECT_EQ(empty.Next().code(), Code::kCorrupt);
}

TEST(LogCodec, TheRestIsEverythingThatWasNotReturned) {
  std::string raw;
  for (int i = 0; i < 20'000; ++i) {
    raw += RecordHeader({i}, LogStream::kOut, false) + std::to_string(i * 7919) + "\n";
  }
  LogCompressor compressor;
  ASSERT_TRUE(compressor.Add(raw).ok());
  const Result<std::string> packed = compressor.Finish();
  ASSERT_TRUE(packed.ok());
  for (const size_t returned : {0, 1, 7}) {
    SegmentDecoder decoder(*packed + *packed, 40'000);
    size_t behind = 0;
    for (size_t i = 0; i < returned; ++i) {
      ASSERT_TRUE(decoder.Next().ok());
      behind += decoder.raw().size();
    }
    ASSERT_TRUE(decoder.Rest(compressor).ok());
    EXPECT_EQ(decoder.raw_bytes(), static_cast<int64_t>(2 * raw.size()));
    const Result<std::string> again = compressor.Finish();
    ASSERT_TRUE(again.ok());
    SegmentDecoder all(*again, 40'000 - static_cast<int64_t>(returned));
    std::string text;
    for (auto next = all.Next(); next.ok() && *next; next = all.Next()) text += all.raw();
    EXPECT_TRUE(text == (raw + raw).substr(behind)) << returned;
  }
  LogCompressor other;
  EXPECT_EQ(SegmentDecoder(packed->substr(0, packed->size() - 9), 20'000).Rest(other).code(),
            Code::kCorrupt);
}

}  // namespace
}  // namespace stoker
