// SPDX-License-Identifier: Apache-2.0
// Carries the records of one LogSpool to the store, in order, each once, whatever dies in between.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/flush_policy.h"
#include "agent/log_merge.h"
#include "agent/log_spool.h"
#include "base/prng.h"
#include "ledger/log/log_codec.h"
#include "ledger/log/log_segments.h"
#include "port/clock.h"
#include "port/object_store.h"

namespace stoker {

struct LogPlace {
  std::string job;
  int attempt = 0;
  int rank = 0;
};

// Stepped from one thread; the const calls and the setters from any. Begins with a
// listing: what the store has is not sent again. Segments are put create-only, and the spool is
// trimmed only after that succeeded. While the store fails, lines stay in the spool. Memory: about
// 3 MiB, 6 MiB while it merges.
class LogShipper {
 public:
  LogShipper(ObjectStore& store, Clock& clock, LogSpool& spool, LogPlace place);

  // Does what is due now; blocks only in calls of the store. Returns when to call again; nullopt =
  // when the spool calls `wake`. Call it early as often as you like.
  std::optional<MonoTime> Step();
  // The program has ended: from now on everything goes at once, and nothing is merged any more.
  void SetEnding() { ending_ = true; }
  // A program is to begin: what is said before waits a moment for its first line.
  void AwaitProgram() { awaits_ = true; }
  // The program begins: its first line goes at once, whatever was said shortly before it.
  void SetBegun();
  // The machine is to go, its disk with it, perhaps sooner than it said: until that is withdrawn,
  // lines wait no longer than while somebody follows them.
  void SetLeaving(bool leaving) { leaving_ = leaving; }
  // Every record that is in the spool is in the store too.
  bool AllShipped() const;
  // One past the last record in the store.
  int64_t shipped_end() const;
  // "" or what is wrong with the store, since how many tries.
  std::string trouble() const;

 private:
  struct Pending {
    LogSegment segment;
    int64_t raw = 0;
    std::string data;
  };

  Result<std::optional<MonoTime>> Work(MonoTime now);
  Status Begin();
  bool Followed(MonoTime now);
  Status ShipOne();
  Status Resolve(const Pending& pending);
  void Upkeep(MonoTime now);
  Status Merge();
  Status CleanUp();
  void Failed(const Status& status);

  ObjectStore& store_;
  Clock& clock_;
  LogSpool& spool_;
  const LogPlace place_;
  std::atomic<bool> ending_{false};
  std::atomic<bool> leaving_{false};
  std::atomic<bool> awaits_{false};
  std::atomic<int64_t> first_{0};  // the program's, or one after it, not in the store; 0 = it is

  bool ending_seen_ = false;
  bool begun_ = false;
  SegmentSet segments_;                 // in the store, as this process knows
  std::map<std::string, int64_t> raw_;  // unpacked sizes of segments
  std::set<std::string> unmergeable_;
  std::vector<LogSegment> doubled_;  // found at the start: perhaps held by larger ones
  std::vector<std::string> spent_;   // certainly held by larger ones: to be deleted
  size_t planned_at_ = 0;            // segments_ had this many when a merge was last considered
  std::optional<Pending> pending_;
  LogCompressor compressor_;
  std::optional<MonoTime> last_put_;
  std::optional<MonoTime> since_;  // when a line was first seen, while a program was awaited
  std::optional<MonoTime> follow_check_;
  bool followed_ = false;
  std::optional<MonoTime> followed_at_;  // the last time; at first, when it was first asked
  int failures_ = 0;
  std::optional<MonoTime> retry_at_;
  MonoTime upkeep_at_;
  Prng prng_;

  mutable std::mutex mutex_;  // guards what follows
  int64_t shipped_end_ = 1;
  bool known_ = false;  // shipped_end_ is the store's
  std::string trouble_;
};

}  // namespace stoker
