// SPDX-License-Identifier: Apache-2.0
// A segment of a log: zstd, with records in it. Input: how many lines its name promises, in a
// decimal of its own line; then the packed bytes, or the text that is packed here.
#include <charconv>

#include "ledger/log/log_codec.h"
#include "ledger/log/log_reader.h"
#include "test/fuzz/target.h"
#include "test/kit/memory_store.h"

namespace stoker::fuzz {
namespace {

constexpr char kMagic[] = "\x28\xb5\x2f\xfd";

struct LogText {
  int64_t lines = 0;
  std::string packed;
  std::string plain;
  bool packed_here = false;
};

LogText SplitLog(std::string_view input) {
  LogText out;
  const size_t end = std::min(input.find('\n'), input.size());
  std::from_chars(input.data(), input.data() + end, out.lines);
  const std::string_view rest = input.substr(std::min(end + 1, input.size()));
  if (rest.substr(0, 4) == kMagic) {
    out.packed = rest;
    return out;
  }
  out.plain = rest;
  out.packed_here = true;
  LogCompressor compressor;
  // In two pieces, as a program writes.
  const bool added = compressor.Add(rest.substr(0, rest.size() / 3)).ok() &&
                     compressor.Add(rest.substr(rest.size() / 3)).ok();
  const auto packed = compressor.Finish();
  FUZZ_EXPECT(added && packed.ok(), "cannot be packed");
  out.packed = *packed;
  return out;
}

void ExpectRecord(const RecordView& view, std::string_view raw) {
  FUZZ_EXPECT(!raw.empty() && raw.back() == '\n', std::string(raw));
  FUZZ_EXPECT(view.text.find('\n') == view.text.npos, std::string(view.text));
  const std::string again =
      RecordHeader(view.time, view.stream, view.continues) + std::string(view.text);
  const auto parsed = ParseRecord(again);
  FUZZ_EXPECT(parsed && parsed->time == view.time && parsed->stream == view.stream &&
                  parsed->continues == view.continues && parsed->text == view.text,
              again);
}

// What SegmentDecoder gives: records as promised, of a text that is a beginning of what was packed.
int64_t ExpectDecoded(const LogText& log) {
  SegmentDecoder decoder(log.packed, log.lines);
  std::string seen;
  int64_t records = 0;
  while (true) {
    const auto next = decoder.Next();
    if (!next.ok()) {
      FUZZ_EXPECT(next.status().Is(Code::kCorrupt), next.status().ToString());
      FUZZ_EXPECT(!decoder.Next().ok(), "a failure that goes away");
      break;
    }
    if (!*next) {
      FUZZ_EXPECT(records == log.lines, std::to_string(records));
      FUZZ_EXPECT(!log.packed_here || seen == log.plain, seen);
      break;
    }
    ++records;
    ExpectRecord(**next, decoder.raw());
    FUZZ_EXPECT(records <= log.lines, std::to_string(records));
    if (log.packed_here) seen += decoder.raw();
    FUZZ_EXPECT(decoder.raw_bytes() <= kMaxSegmentRaw, std::to_string(decoder.raw_bytes()));
  }
  FUZZ_EXPECT(!log.packed_here || log.plain.compare(0, seen.size(), seen) == 0, seen);
  return records;
}

// The same through the store: every line that is good is read once, in order, and it ends.
void ExpectRead(const LogText& log, int64_t good) {
  MemoryStore store;
  (void)store.Put(SegmentKey("j", 1, 0, 1, log.lines), log.packed);
  (void)store.Put(SegmentKey("j", 1, 0, 3, log.lines), log.packed);
  auto reader = LogReader::Open(store, "j");
  FUZZ_EXPECT(reader.ok(), reader.status().ToString());
  int64_t last = 0;
  for (int calls = 0;; ++calls) {
    FUZZ_EXPECT(calls < 1000, "a log that does not end");
    const auto records = (*reader)->Next();
    FUZZ_EXPECT(records.ok(), records.status().ToString());
    if (records->empty()) break;
    for (const LogRecord& record : *records) {
      if (record.note) continue;
      FUZZ_EXPECT(record.line > last, std::to_string(record.line));
      last = record.line;
    }
  }
  FUZZ_EXPECT(last >= good, std::to_string(last) + " of " + std::to_string(good));
  const std::string cursor = (*reader)->Cursor();
  const auto again = LogReader::Open(store, "j", {}, cursor);
  FUZZ_EXPECT(again.ok() && (*again)->Cursor() == cursor, cursor);
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(log_segment) {
  using namespace stoker;
  using namespace stoker::fuzz;
  const LogText log = SplitLog(input);
  const int64_t good = ExpectDecoded(log);
  if (log.lines >= 1 && log.lines < kMaxLogLine / 2) ExpectRead(log, good);
  const std::string key(input.substr(0, input.find('\n')));
  if (const auto segment = ParseSegmentKey("j", key)) {
    FUZZ_EXPECT(
        SegmentKey("j", segment->attempt, segment->rank, segment->first, segment->lines) == key,
        key);
  }
  MemoryStore empty;
  const auto reader = LogReader::Open(empty, "j", {}, key);
  FUZZ_EXPECT(reader.ok() || reader.status().Is(Code::kInvalid), reader.status().ToString());
}
