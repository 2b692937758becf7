// SPDX-License-Identifier: Apache-2.0
// Where a task's output goes first: cut into numbered records (ledger/log/log_record.h) and
// appended to files on this machine's disk, from which LogShipper carries it to the store.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ledger/log/log_record.h"
#include "port/clock.h"
#include "port/log_sink.h"
#include "port/spool.h"

namespace stoker {

struct LogSpoolOptions {
  int64_t first_line = 1;  // number of the first record when the folder is empty
  int64_t rotate_bytes = 4 << 20;
  // More than this is not kept: Write waits while the shipper is getting on, else lines are lost
  // and counted, as with a full disk.
  int64_t max_bytes = int64_t{1} << 30;
  Duration partial_idle = Duration::Ms(300);  // an unfinished line is recorded after this silence
  Duration partial_age = Duration::Ms(1000);  // or at this age, silent or not (progress bars)
};

struct LogCounters {
  int64_t records = 0;     // numbered so far, over all agents of this (attempt, rank)
  int64_t lines = 0;       // newlines seen by this process
  int64_t bytes = 0;       // of the program's output, seen by this process
  int64_t lost_lines = 0;  // could not be kept (disk full)
  WallTime last_output;    // 0 = none yet; this machine's clock
};

// Thread-safe, but Read and Trim from one thread (the shipper's). Opening recovers what an earlier
// process left: a record torn by its death is cut off. Memory: under 1 MiB.
class LogSpool : public LogSink {
 public:
  // `wake` is called, from any writing thread, when the shipper should look (see WakeAt, Tick).
  static Result<std::unique_ptr<LogSpool>> Open(std::unique_ptr<SpoolFolder> folder, Clock& clock,
                                                std::function<void()> wake,
                                                const LogSpoolOptions& options = {});

  // Never fails the program: what the disk does not take is counted, and said in the log as soon as
  // there is room again.
  void Write(LogStream stream, std::string_view bytes) override;
  // One line by stoker itself; `text` without newline.
  void Say(std::string_view text);
  // Records unfinished lines that are due. Returns when to call again; nullopt = when woken.
  std::optional<MonoTime> Tick();
  // Records all unfinished lines: the program has ended.
  void FlushPartials();

  // `told` hears of each batch of records once it is kept, with the line of the first: from any
  // writing thread, under this spool's lock, so it must be quick. Before anything is written.
  void Tell(std::function<void(int64_t first, std::string_view records)> told);

  struct Chunk {
    std::string text;   // whole records; empty = nothing at or after the line asked for
    int64_t first = 0;  // line of the first; greater than asked for where lines are missing
    int64_t lines = 0;
  };
  // Records from `line` on, about `max_bytes` (at least one record), never across a gap.
  Result<Chunk> Read(int64_t line, int64_t max_bytes);
  // Everything before `line` is in the store: frees the disk of it, as far as files are spent.
  void Trim(int64_t line);
  // Numbers what comes from now on from `line` at least: the store has more than this disk knows
  // of.
  void SkipTo(int64_t line);
  // Deletes all files. For the end, when all is in the store; nothing may be written afterwards.
  Status Remove();

  struct Waiting {
    int64_t first = 0;  // first line at or after the one asked for, when lines > 0
    int64_t lines = 0;
    int64_t bytes = 0;     // approximately
    int64_t appended = 0;  // for WakeAt
  };
  Waiting WaitingFrom(int64_t line) const;
  // Calls `wake` once as soon as `appended` (see Waiting) is reached; at once when it is already.
  void WakeAt(int64_t appended);

  LogCounters counters() const;
  // The end of what the program wrote to standard error: at most 4 KiB, printable, whole lines
  // where possible, of a progress bar its last state.
  std::string stderr_tail() const;
  // "" or what keeps lines from being kept.
  std::string trouble() const;

 private:
  struct File {
    std::string name;
    int64_t first = 0;
    int64_t records = 0;
    int64_t bytes = 0;  // of whole records; what lies beyond is torn
    int64_t end() const { return first + records; }
  };
  struct Partial {
    std::string text;
    MonoTime begun, touched;
  };

  LogSpool(std::unique_ptr<SpoolFolder> folder, Clock& clock, std::function<void()> wake,
           const LogSpoolOptions& options);
  Status Recover();
  Result<File> Scan(const std::string& name, int64_t first, int64_t size);

  // With mutex_ held.
  void Split(LogStream stream, std::string_view bytes, MonoTime now);
  void AddRecord(LogStream stream, bool continues, std::string_view a, std::string_view b);
  void FlushPartial(LogStream stream);
  void Commit();
  Status AppendBatch(std::string_view batch, int64_t records);
  Status OpenCurrent();
  bool TakeWake();
  void WaitForRoom(std::unique_lock<std::mutex>& lock);
  void UpdateHeaders(WallTime now);
  void RememberStderr(std::string_view bytes);
  std::string LossNotice() const;
  // Without mutex_: reads on from the start of a file.
  Result<int64_t> OffsetOf(const File& file, int64_t line);

  const std::unique_ptr<SpoolFolder> folder_;
  Clock& clock_;
  const std::function<void()> wake_;
  std::function<void(int64_t first, std::string_view records)> told_;
  const LogSpoolOptions options_;

  mutable std::mutex mutex_;
  std::vector<File> files_;                  // oldest first
  std::unique_ptr<SpoolAppender> appender_;  // of files_.back(); null: open it again first
  int64_t next_line_ = 1;
  int64_t appended_ = 0;
  std::optional<int64_t> wake_at_;
  Partial partials_[3];
  bool tick_scheduled_ = false;
  std::string batch_;
  int64_t batch_records_ = 0;
  WallTime batch_time_;
  std::string headers_[3][2];  // of batch_time_, by stream and continues
  int64_t lost_unsaid_ = 0;
  Status append_status_;
  MonoTime last_loss_;
  MonoTime last_trim_;
  std::condition_variable room_;
  int64_t spooled_ = 0;  // bytes in files_
  LogCounters counters_;
  std::string stderr_tail_;

  // The shipper's place, so that reading on does not scan a file from its start.
  std::string place_name_;
  int64_t place_line_ = 0;
  int64_t place_offset_ = 0;
};

}  // namespace stoker
