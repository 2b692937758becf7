// SPDX-License-Identifier: Apache-2.0
// Reading: order, cursors, filters, overlaps, gaps, damage, merging meanwhile.
#include <atomic>
#include <thread>

#include "sys/real_clock.h"
#include "test/logs/log_fixture.h"

namespace stoker {
namespace {

std::vector<std::string> Names(const std::vector<LogRecord>& records) {
  std::vector<std::string> names;
  for (const LogRecord& r : records) {
    names.push_back((r.note ? "note " : "") + std::to_string(r.attempt) + "." +
                    std::to_string(r.rank) + ":" + std::to_string(r.line));
  }
  return names;
}

using Strings = std::vector<std::string>;

TEST(Reader, AttemptsInOrderAndNodesByTime) {
  MemoryStore store;
  PutSegment(store, 10, 0, 1, 1, 500);  // "10-0" sorts before "2-0" as text
  PutSegment(store, 2, 0, 1, 2, 1000);
  PutSegment(store, 2, 1, 1, 1, 1000);
  PutSegment(store, 2, 0, 3, 1, 1000);
  PutSegment(store, 2, 1, 2, 1, 5000);
  EXPECT_EQ(Names(ReadAll(store)),
            (Strings{"2.0:1", "2.1:1", "2.0:2", "2.0:3", "2.1:2", "10.0:1"}));
  LogFilter filter;
  filter.attempt = 2;
  filter.rank = 1;
  EXPECT_EQ(Names(ReadAll(store, filter)), (Strings{"2.1:1", "2.1:2"}));
  filter = {};
  filter.rank = 0;
  EXPECT_EQ(Names(ReadAll(store, filter)), (Strings{"2.0:1", "2.0:2", "2.0:3", "10.0:1"}));
  filter = {};
  filter.tail = 1;
  EXPECT_EQ(Names(ReadAll(store, filter)), (Strings{"10.0:1"}));
  filter.tail = 2;
  filter.tail_of_all = true;
  EXPECT_EQ(Names(ReadAll(store, filter)), (Strings{"2.0:3", "2.1:2", "10.0:1"}));
  filter = {};
  filter.attempt = 2;
  filter.tail = 2;
  EXPECT_EQ(Names(ReadAll(store, filter)), (Strings{"2.1:1", "2.0:2", "2.0:3", "2.1:2"}));
}

TEST(Reader, FollowsFromACursor) {
  MemoryStore store;
  PutSegment(store, 1, 0, 1, 5);
  Result<std::unique_ptr<LogReader>> reader = LogReader::Open(store, kJob);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->Next()->size(), 5u);
  EXPECT_EQ((*reader)->Next()->size(), 0u);
  PutSegment(store, 1, 0, 6, 2);
  EXPECT_EQ(Names(*(*reader)->Next()), (Strings{"1.0:6", "1.0:7"}));
  EXPECT_EQ((*reader)->Cursor(), "1.0:8");
  PutSegment(store, 1, 0, 8, 1);
  PutSegment(store, 2, 1, 1, 1);
  reader = LogReader::Open(store, kJob, {}, "1.0:7");
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(Names(*(*reader)->Next()), (Strings{"1.0:7", "1.0:8", "2.1:1"}));
  for (const char* bad : {"x", "1.0", "1.0:0", "0.0:1", "1.0:1x", "1.0:1 ", "1.-1:2", "1.0:1e9",
                          "99999999999.0:1", "1.0:9999999999999"}) {
    EXPECT_EQ(LogReader::Open(store, kJob, {}, bad).code(), Code::kInvalid) << bad;
  }
}

TEST(Reader, SinceAndStream) {
  MemoryStore store;
  LogCompressor compressor;
  ASSERT_TRUE(compressor.Add("1000 o a\n2000 e b\n3000 s c\n4000 o d\n").ok());
  ASSERT_TRUE(store.Put(SegmentKey(kJob, 1, 0, 1, 4), *compressor.Finish()).ok());
  LogFilter filter;
  filter.since = WallTime{2000};
  EXPECT_EQ(Names(ReadAll(store, filter)), (Strings{"1.0:2", "1.0:3", "1.0:4"}));
  filter.stream = LogStream::kOut;
  EXPECT_EQ(Names(ReadAll(store, filter)), (Strings{"1.0:4"}));
}

TEST(Reader, OverlappingSegmentsGiveEachLineOnce) {
  for (uint64_t seed = 1; seed <= Rounds(200); ++seed) {
    Prng prng(seed);
    MemoryStore store;
    const int64_t end = prng.Between(20, 60);
    for (int64_t line = 1; line <= end;) {  // a whole cover, and pieces over it
      const int64_t count = std::min(prng.Between(1, 9), end + 1 - line);
      PutSegment(store, 1, 0, line, count);
      line += count;
    }
    for (int i = 0; i < 8; ++i) {
      const int64_t first = prng.Between(1, end);
      PutSegment(store, 1, 0, first, prng.Between(1, end + 1 - first));
    }
    const std::vector<LogRecord> records = ReadAll(store);
    ASSERT_EQ(static_cast<int64_t>(records.size()), end);
    for (int64_t i = 0; i < end; ++i) {
      ASSERT_EQ(records[static_cast<size_t>(i)].line, i + 1);
      ASSERT_EQ(records[static_cast<size_t>(i)].text, "line " + std::to_string(i + 1));
    }
  }
}

TEST(Reader, SaysWhatIsMissing) {
  MemoryStore store;
  PutSegment(store, 1, 0, 1, 2);
  PutSegment(store, 1, 0, 6, 2);
  const std::vector<LogRecord> records = ReadAll(store);
  EXPECT_EQ(Names(records), (Strings{"1.0:1", "1.0:2", "note 1.0:3", "1.0:6", "1.0:7"}));
  EXPECT_EQ(records[2].text, "stoker: lines 3-5 are missing from the log of attempt 1, node 0");
}

TEST(Reader, SkipsDamageAndSaysSo) {
  MemoryStore store;
  PutSegment(store, 1, 0, 1, 2);
  const std::string damaged = PutSegment(store, 1, 0, 3, 50);
  PutSegment(store, 1, 0, 53, 1);
  const std::string good = store.Get(damaged)->data;
  for (size_t at = 0; at < good.size(); at += 3) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    ASSERT_TRUE(store.Put(damaged, bad).ok());
    const std::vector<LogRecord> records = ReadAll(store);
    ASSERT_GE(records.size(), 3u);
    ASSERT_EQ(records.back().line, 53) << at;
    int notes = 0;
    for (const LogRecord& record : records) notes += record.note;
    // A flipped bit in the checksum alone leaves every line, and nothing to say.
    ASSERT_TRUE(notes == 1 || records.size() == 53) << at;
  }
  for (size_t size = 0; size < good.size(); size += 5) {
    ASSERT_TRUE(store.Put(damaged, good.substr(0, size)).ok());
    ASSERT_EQ(ReadAll(store).back().line, 53);
  }
  ASSERT_TRUE(store.Delete(SegmentKey(kJob, 1, 0, 53, 1)).ok());
  ASSERT_TRUE(store.Put(damaged, "garbage").ok());
  const std::vector<LogRecord> last = ReadAll(store);  // damage at the very end is said too
  EXPECT_EQ(Names(last), (Strings{"1.0:1", "1.0:2", "note 1.0:3"}));
  EXPECT_NE(last[2].text.find("segment"), std::string::npos) << last[2].text;
}

TEST(Reader, ABombIsBounded) {
  MemoryStore store;
  PutSegment(store, 1, 0, 1, 1);
  LogCompressor compressor;
  const std::string zeros(1 << 20, '0');
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(compressor.Add(zeros).ok());
  ASSERT_TRUE(store.Put(SegmentKey(kJob, 1, 0, 2, 1), *compressor.Finish()).ok());
  std::string lines;
  for (int i = 0; i < 10'000; ++i) lines += "1000 o " + std::string(1000, 'a') + "\n";
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(compressor.Add(lines).ok());
  ASSERT_TRUE(store.Put(SegmentKey(kJob, 2, 0, 1, 200'000), *compressor.Finish()).ok());
  LogFilter filter;
  filter.attempt = 1;
  EXPECT_EQ(Names(ReadAll(store, filter)), (Strings{"1.0:1", "note 1.0:2"}));
  filter.attempt = 2;
  const std::vector<LogRecord> second = ReadAll(store, filter);
  EXPECT_LT(second.size(), 70'000u);
  EXPECT_TRUE(second.back().note);
}

TEST(Reader, StrayObjectsAreIgnored) {
  MemoryStore store;
  const std::string prefix = std::string("jobs/") + kJob + "/log/";
  for (const char* stray :
       {"readme", "1-0/x", "1-0/1-1.zst", "1-0/000000000001-01.zst", "1-0/000000000001-1.zst.tmp",
        "01-0/000000000001-1.zst", "1-0/000000000000-1.zst", "1-0/000000000001-0.zst"}) {
    ASSERT_TRUE(store.Put(prefix + stray, "?").ok());
  }
  EXPECT_TRUE(ReadAll(store).empty());
}

TEST(Reader, AFailingStoreLosesNothing) {
  MemoryStore memory;
  for (int64_t line = 1; line <= 50; ++line) PutSegment(memory, 1, 0, line, 1);
  FaultyStore store(memory, 5, Faults(400));
  Result<std::unique_ptr<LogReader>> reader = LogReader::Open(store, kJob);
  ASSERT_TRUE(reader.ok());
  int64_t next = 1;
  for (int calls = 0; next <= 50; ++calls) {
    ASSERT_LT(calls, 10'000);
    Result<std::vector<LogRecord>> batch = (*reader)->Next();
    if (!batch.ok()) continue;
    for (const LogRecord& record : *batch) ASSERT_EQ(record.line, next++);
  }
}

// Merges lines 1-6 of 1.0 into one segment at the worst moment: between the pages of a listing, or
// just before a segment is read.
class MergesMeanwhile : public ForwardingStore {
 public:
  enum class When { kBetweenPages, kBeforeGet };
  MergesMeanwhile(ObjectStore& inner, When when) : ForwardingStore(inner), when_(when) {}
  Result<Listing> List(const std::string& prefix, const std::string& after, int limit) override {
    if (when_ == When::kBetweenPages && !after.empty()) Merge();
    return inner_.List(prefix, after, std::min(limit, 3));
  }
  Result<Object> Get(const std::string& key) override {
    if (when_ == When::kBeforeGet) Merge();
    return inner_.Get(key);
  }
  bool merged() const { return merged_; }

 private:
  void Merge() {
    if (std::exchange(merged_, true)) return;
    PutSegment(inner_, 1, 0, 1, 6);
    // Parts are deleted newest first; between the pages it has got to 4.
    for (int64_t line = 6; line >= (when_ == When::kBetweenPages ? 4 : 1); --line) {
      EXPECT_TRUE(inner_.Delete(SegmentKey(kJob, 1, 0, line, 1)).ok());
    }
  }
  const When when_;
  bool merged_ = false;
};

TEST(Reader, AMergeAtTheWorstMomentIsNoGap) {
  using When = MergesMeanwhile::When;
  for (When when : {When::kBetweenPages, When::kBeforeGet}) {
    MemoryStore memory;
    for (int64_t line = 1; line <= 8; ++line) PutSegment(memory, 1, 0, line, 1);
    MergesMeanwhile store(memory, when);
    const std::vector<LogRecord> records = ReadAll(store);
    EXPECT_TRUE(store.merged());
    ASSERT_EQ(records.size(), 8u);
    for (const LogRecord& record : records) EXPECT_FALSE(record.note) << record.text;
  }
}

// A writer that puts and merges all the time, and a reader that follows it.
TEST(Reader, FollowingThroughMergesGivesEachLineOnce) {
  RealClock clock;
  SpoolDisk disk;
  MemoryStore store;
  constexpr int64_t kLines = 4000;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    std::unique_ptr<LogSpool> spool = OpenSpool(disk, clock);
    for (int64_t i = 1; i <= kLines;) {
      // A new shipper has nothing behind it, so its first segment goes at once.
      LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
      spool->Write(LogStream::kOut, std::to_string(i++) + "\n");
      shipper.Step();
      for (int k = 0; k < 3; ++k) spool->Write(LogStream::kOut, std::to_string(i++) + "\n");
    }
    LogShipper shipper(store, clock, *spool, {kJob, 1, 0});
    shipper.Step();
    done = shipper.AllShipped();
  });
  int64_t next = 1;
  Result<std::unique_ptr<LogReader>> reader = LogReader::Open(store, kJob);
  ASSERT_TRUE(reader.ok());
  for (bool last = false; next <= kLines && !last;) {
    last = done;
    Result<std::vector<LogRecord>> batch = (*reader)->Next();
    EXPECT_TRUE(batch.ok()) << batch.status().ToString();
    if (!batch.ok()) break;
    for (const LogRecord& record : *batch) {
      EXPECT_FALSE(record.note) << record.text;
      EXPECT_EQ(record.line, next);
      EXPECT_EQ(record.text, std::to_string(next));
      ++next;
    }
  }
  writer.join();
  EXPECT_EQ(next, kLines + 1);
  EXPECT_LT(CountObjects(store), 200u);
}

}  // namespace
}  // namespace stoker
