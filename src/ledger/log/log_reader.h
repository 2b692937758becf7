// SPDX-License-Identifier: Apache-2.0
// Reads a job's log out of the store, whole or as it grows, in order, across attempts and nodes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ledger/log/log_codec.h"
#include "ledger/log/log_segments.h"
#include "port/object_store.h"

namespace stoker {

struct LogFilter {
  std::optional<int> attempt;
  std::optional<int> rank;
  std::optional<LogStream> stream;
  std::optional<WallTime> since;  // by the clock of the node that wrote the line
  int64_t tail = 0;  // > 0: begin about this many records before the end of the newest attempt
  bool tail_of_all = false;  // the tail goes back into earlier attempts where the newest has less
};

// One record, or with `note` set something to say about the log itself (lines that are missing):
// then `line` is the first line concerned and `text` the sentence.
struct LogRecord {
  int attempt = 0;
  int rank = 0;
  int64_t line = 0;
  WallTime time;  // by the node's clock
  LogStream stream = LogStream::kOut;
  bool continues = false;  // no newline follows `text`: the line goes on in the next record
  bool note = false;
  std::string text;  // untrusted bytes: make them Printable before they reach a terminal
};

// Within one (attempt, rank) records come strictly in order, each once; attempts come one after
// another; nodes of an attempt are interleaved by their times as far as these are known yet. Not
// thread-safe. Memory: one segment of each node being read.
class LogReader {
 public:
  // `cursor` (from Cursor() of an earlier reader) goes on where that one stopped; "" begins at the
  // beginning. kInvalid when the cursor is none. Reads nothing yet.
  static Result<std::unique_ptr<LogReader>> Open(ObjectStore& store, const std::string& job,
                                                 const LogFilter& filter = {},
                                                 const std::string& cursor = "");

  // The next records, about 1 MiB at most; empty when there is nothing new at this moment (then
  // wait for the store's traits().poll and ask again to follow). One listing a call at most, unless
  // segments are being merged meanwhile. After a failure nothing is lost: call again.
  Result<std::vector<LogRecord>> Next();

  // "1.0:12 1.1:40": the next line of each (attempt, rank).
  std::string Cursor() const;

  // What a node has said of its log.
  struct Counted {
    int64_t lines = 0;
    bool all = true;  // false: it was gone before it said that these were all, and kept
  };
  // A note for each (attempt, rank) of which all that is stored was read, and less than its node
  // has counted: the last segments are gone, and nothing behind them shows it. And one for each
  // that never came to count its last lines.
  std::vector<LogRecord> MissingAtEnd(const std::map<std::pair<int, int>, Counted>& counted) const;

 private:
  struct Source {
    int64_t next = 1;
    SegmentSet segments;
    std::set<std::string> doubted;  // keys that were damaged when they were read first
    std::set<std::string> bad;      // keys that cannot be read
    std::string why_bad;
    bool gap_seen = false;  // listed again since the gap at `next` was found
    std::string open_key;
    int64_t open_line = 0;  // of the record that the decoder gives next
    std::unique_ptr<SegmentDecoder> open;
    std::optional<LogRecord> head;
    int64_t head_end = 0;  // `next` once the head is taken
    WallTime last_time;
  };
  using Id = std::pair<int, int>;  // (attempt, rank)

  LogReader(ObjectStore& store, std::string job, LogFilter filter);
  Status Refresh();
  void ApplyTail();
  bool SkipBySince(const LogSegment& segment) const;
  // Gives the source a head if any record is known; leaves it without one otherwise.
  Status Fill(Id id, Source& source);
  Status FillFromOpen(Id id, Source& source);
  Status OpenSegment(Source& source, const LogSegment& segment);
  Status MeetGap(Id id, Source& source, bool* relisted);
  bool Wanted(const RecordView& view) const;

  ObjectStore& store_;
  const std::string job_;
  const LogFilter filter_;
  std::map<Id, Source> sources_;
  bool listed_ = false;
  WallTime store_now_;
};

}  // namespace stoker
