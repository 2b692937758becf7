// SPDX-License-Identifier: Apache-2.0
// Carries what the store has of one attempt's log on to a cloud's own log: in order, each line
// once, whatever dies in between. Nothing waits for it: what the store has, it can have later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/log_shipper.h"
#include "base/prng.h"
#include "ledger/log/log_reader.h"
#include "port/clock.h"
#include "port/cloud_log.h"
#include "port/object_store.h"

namespace stoker {

// A record as a cloud takes it: text that is UTF-8 (other bytes become U+FFFD) and not empty, a
// time not before `after`. Pure.
CloudLine CloudLineOf(const LogRecord& record, WallTime after);
// How many of `lines`, from the first on, may go in one call; 0 only of none. Pure.
size_t CloudBatch(const std::deque<CloudLine>& lines, const CloudLogLimits& limits);

// Where the mirror is, on the node's disk: what is to go next, the time of the line before it, and
// how many lines were sent whose answer was not read.
struct MirrorPosition {
  int64_t next = 1;
  WallTime last;
  int64_t sent = 0;
  bool operator==(const MirrorPosition&) const = default;
};
std::string PrintMirrorPosition(const MirrorPosition& position);
// kCorrupt: it is none.
Result<MirrorPosition> ParseMirrorPosition(const std::string& text);

struct MirrorMemory {
  std::function<Result<std::string>()> read;  // kNotFound: nothing was written yet
  std::function<Status(const std::string&)> write;
};

// One thread. All must outlive it. Memory: 2 MiB of lines.
class LogMirror {
 public:
  // `say`: a line of stoker's own for the job's log, without newline.
  LogMirror(ObjectStore& store, Clock& clock, LogPlace place, CloudLog& to, MirrorMemory memory,
            std::function<void(const std::string&)> say);

  // Sends some of the lines before `end`, INT64_MAX = all that the store has; blocks in calls of
  // the store and of the cloud. When to call again; nullopt = there is no more for now.
  std::optional<MonoTime> Step(int64_t end);
  // What failed is tried again by the next Step: at once, or as soon as it is known whether a call
  // that was not answered was taken.
  void Hurry();
  // One past the last line that the cloud has.
  int64_t next() const { return position_.next; }
  // "" or why lines do not get there, and since how many tries.
  const std::string& trouble() const { return trouble_; }

 private:
  static constexpr size_t kMostInACall = 1 << 20;
  Result<bool> Work(int64_t end);
  Status Begin();
  Result<bool> ReadMore();
  Status SendOne();
  Status Settle(const std::vector<CloudLine>& batch);
  Status Remember();
  void Failed(const Status& status);
  void Recovered();

  ObjectStore& store_;
  Clock& clock_;
  const LogPlace place_;
  CloudLog& to_;
  const MirrorMemory memory_;
  const std::function<void(const std::string&)> say_;
  Prng prng_;
  bool begun_ = false, prepared_ = false;
  bool left_out_ = false;  // of the last batch, which was said
  // Lines in the next call at most: fewer while it is looked for those that are refused.
  size_t most_ = kMostInACall;
  int refused_ = 0;  // calls in a row of which lines were left out
  MirrorPosition position_;
  WallTime read_last_;  // the time of the last of lines_
  std::unique_ptr<LogReader> reader_;
  std::deque<CloudLine> lines_;
  int64_t read_end_ = 1;  // one past the last of lines_
  int failures_ = 0;
  bool said_ = false;
  MonoTime failing_since_, failed_at_;
  std::optional<MonoTime> retry_at_;
  std::string trouble_;
};

}  // namespace stoker
