// SPDX-License-Identifier: Apache-2.0
// What the log tests share: a clock set by hand, a folder that goes away, a spool in memory that
// can be full, and the exact bytes that a reader gives back.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/log_shipper.h"
#include "agent/log_spool.h"
#include "base/prng.h"
#include "ledger/log/log_reader.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"
#include "test/kit/rounds.h"

namespace stoker {

class ManualClock : public Clock {
 public:
  MonoTime Mono() override { return {ms_}; }
  WallTime Wall() override { return {1'763'739'845'000 + ms_}; }
  void Advance(Duration d) { ms_ += d.ms; }

 private:
  std::atomic<int64_t> ms_{1000};
};

class TempFolder {
 public:
  TempFolder() {
    std::string name = std::filesystem::temp_directory_path() / "stoker-logs-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) abort();
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The files of a spool, kept by the test so that they outlive the spools opened on them.
struct SpoolDisk {
  std::map<std::string, std::string> files;
  int64_t room = int64_t{1} << 40;  // bytes that still fit
  bool keep_removed = false;        // as if the process had died before it removed anything
  std::mutex mutex;
};

class MemorySpool : public SpoolFolder {
 public:
  explicit MemorySpool(SpoolDisk& disk) : disk_(disk) {}
  Result<std::vector<SpoolEntry>> List() override {
    const std::lock_guard lock(disk_.mutex);
    std::vector<SpoolEntry> entries;
    for (const auto& [name, data] : disk_.files) {
      entries.push_back({name, static_cast<int64_t>(data.size())});
    }
    return entries;
  }
  Result<std::unique_ptr<SpoolAppender>> OpenAppend(const std::string& name) override {
    const std::lock_guard lock(disk_.mutex);
    disk_.files[name];
    return std::unique_ptr<SpoolAppender>(new Appender(disk_, name));
  }
  Result<std::string> Read(const std::string& name, int64_t offset, int64_t size) override {
    const std::lock_guard lock(disk_.mutex);
    const std::string& data = disk_.files[name];
    if (offset >= static_cast<int64_t>(data.size())) return std::string();
    return data.substr(static_cast<size_t>(offset), static_cast<size_t>(size));
  }
  Status Truncate(const std::string& name, int64_t size) override {
    const std::lock_guard lock(disk_.mutex);
    std::string& data = disk_.files[name];
    disk_.room += static_cast<int64_t>(data.size()) - size;
    data.resize(static_cast<size_t>(size));
    return Status::Ok();
  }
  Status Remove(const std::string& name) override {
    const std::lock_guard lock(disk_.mutex);
    if (disk_.keep_removed) return Status::Ok();
    disk_.room += static_cast<int64_t>(disk_.files[name].size());
    disk_.files.erase(name);
    return Status::Ok();
  }

 private:
  class Appender : public SpoolAppender {
   public:
    Appender(SpoolDisk& disk, std::string name) : disk_(disk), name_(std::move(name)) {}
    Status Append(std::string_view bytes) override {
      const std::lock_guard lock(disk_.mutex);
      int64_t fits = std::min<int64_t>(disk_.room, static_cast<int64_t>(bytes.size()));
      disk_.files[name_].append(bytes.substr(0, static_cast<size_t>(fits)));
      disk_.room -= fits;
      if (fits == static_cast<int64_t>(bytes.size())) return Status::Ok();
      return Status(Code::kNoSpace, "append to " + name_ + ": no space left on device");
    }

   private:
    SpoolDisk& disk_;
    std::string name_;
  };
  SpoolDisk& disk_;
};

inline std::unique_ptr<LogSpool> OpenSpool(SpoolDisk& disk, Clock& clock,
                                           const LogSpoolOptions& options = {}) {
  Result<std::unique_ptr<LogSpool>> spool =
      LogSpool::Open(std::make_unique<MemorySpool>(disk), clock, nullptr, options);
  EXPECT_TRUE(spool.ok()) << spool.status().ToString();
  return std::move(spool).value();
}

// Faults in a thousand requests; `only` limits them to one kind of call.
inline FaultPlan Faults(int before, int after = 0, int throttled = 0,
                        std::optional<StoreCall> only = {}) {
  FaultPlan plan;
  plan.before = before;
  plan.after = after;
  plan.throttled = throttled;
  if (only) plan.only = [only](StoreCall call, const std::string&) { return call == *only; };
  return plan;
}

inline constexpr char kJob[] = "abcd-job";

// Everything that the filter lets through, in order.
inline std::vector<LogRecord> ReadAll(ObjectStore& store, const LogFilter& filter = {}) {
  Result<std::unique_ptr<LogReader>> reader = LogReader::Open(store, kJob, filter);
  EXPECT_TRUE(reader.ok());
  std::vector<LogRecord> all;
  while (true) {
    Result<std::vector<LogRecord>> batch = (*reader)->Next();
    EXPECT_TRUE(batch.ok()) << batch.status().ToString();
    if (!batch.ok() || batch->empty()) return all;
    for (LogRecord& record : *batch) all.push_back(std::move(record));
  }
}

// The bytes that a program wrote, as the log gives them back.
inline std::string BytesOf(const std::vector<LogRecord>& records) {
  std::string bytes;
  for (const LogRecord& record : records) {
    bytes += record.text;
    if (!record.continues) bytes += '\n';
  }
  return bytes;
}

inline std::string StreamBytes(ObjectStore& store, LogStream stream) {
  LogFilter filter;
  filter.stream = stream;
  return BytesOf(ReadAll(store, filter));
}

// Steps until everything is in the store; false when that never happens.
inline bool ShipEverything(LogSpool& spool, LogShipper& shipper, ManualClock& clock) {
  spool.FlushPartials();
  shipper.SetEnding();
  for (int i = 0; i < 10'000; ++i) {
    shipper.Step();
    if (shipper.AllShipped()) return true;
    clock.Advance(Duration::Seconds(1));
  }
  return false;
}

// Puts lines [first, first + count) of (attempt, rank) as one segment, "line N" each.
inline std::string PutSegment(ObjectStore& store, int attempt, int rank, int64_t first,
                              int64_t count, int64_t time_ms = 1'000) {
  LogCompressor compressor;
  for (int64_t line = first; line < first + count; ++line) {
    std::string text = RecordHeader({time_ms + line}, LogStream::kOut, false) + "line " +
                       std::to_string(line) + "\n";
    EXPECT_TRUE(compressor.Add(text).ok());
  }
  std::string key = SegmentKey(kJob, attempt, rank, first, count);
  EXPECT_TRUE(store.Put(key, *compressor.Finish()).ok());
  return key;
}

inline size_t CountObjects(ObjectStore& store) {
  size_t count = 0;
  EXPECT_TRUE(ListAll(store, "", [&](const ObjectInfo&) {
                ++count;
                return Status::Ok();
              }).ok());
  return count;
}

}  // namespace stoker
