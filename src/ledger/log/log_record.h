// SPDX-License-Identifier: Apache-2.0
// One record of a log as readable text, and where a node's segments of records lie in the store.
//
//   <unix milliseconds> <stream>[+] <text>\n
//
// stream: o = standard output, e = standard error, s = stoker itself. The text is the program's
// bytes as they were (no \n in it; carriage returns and anything else kept). "+": the program's
// line goes on in the next record of the same stream, because it was cut at kMaxRecordText or was
// unfinished for a while; without "+" a newline followed. So the exact bytes of a stream are its
// records' texts in order, each without "+" followed by \n. Records are numbered from 1 in each
// (attempt, rank), over all streams in the order of arrival; a record is named attempt.rank:line.
//
// A segment is jobs/<job>/log/<attempt>-<rank>/<%012d first line>-<lines>.zst: that many records,
// zstd. Segments are create-only; a larger one may repeat what smaller ones hold (see log_merge.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "port/log_sink.h"

namespace stoker {

inline constexpr int64_t kMaxRecordText = 64 * 1024;
// Longest record as text, header and \n included; longer ones are damaged or hostile.
inline constexpr int64_t kMaxLogRecordBytes = kMaxRecordText + 64;
inline constexpr int64_t kMaxLogLine = 999'999'999'999;  // 12 digits

// A record as it lies in a buffer; `text` points into that.
struct RecordView {
  WallTime time;
  LogStream stream = LogStream::kOut;
  bool continues = false;
  std::string_view text;
};

// "1763739845123 o+ ": the part before the text.
std::string RecordHeader(WallTime time, LogStream stream, bool continues);
// `line` without its \n. nullopt when it is not a record.
std::optional<RecordView> ParseRecord(std::string_view line);

struct LogSegment {
  std::string key;
  int attempt = 0;
  int rank = 0;
  int64_t first = 0;
  int64_t lines = 0;
  int64_t size = 0;        // compressed; 0 = not known
  WallTime last_modified;  // by the store's clock
  int64_t end() const { return first + lines; }
};

std::string SegmentKey(const std::string& job, int attempt, int rank, int64_t first, int64_t lines);
// nullopt when `key` is not a segment of `job`: what else lies there is left alone.
std::optional<LogSegment> ParseSegmentKey(const std::string& job, const std::string& key);

}  // namespace stoker
