// SPDX-License-Identifier: Apache-2.0
// Log capture of one task, ready to use: a LogSpool, its LogShipper, and the thread that steps it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "agent/log_shipper.h"
#include "agent/log_spool.h"

namespace stoker {

class LogPump {
 public:
  // Recovers what an earlier agent left in `folder` and goes on behind it and behind what the store
  // has. Fails when the disk cannot be read, or when the folder is empty and the store does not
  // answer (then numbering is unknown): try again. `store` and `clock` must outlive it.
  static Result<std::unique_ptr<LogPump>> Start(ObjectStore& store, Clock& clock,
                                                std::unique_ptr<SpoolFolder> folder,
                                                const LogPlace& place,
                                                LogSpoolOptions options = {});
  // Stops the thread; what is not in the store stays in the spool.
  ~LogPump();

  LogSpool& sink() { return *spool_; }
  const LogSpool& spool() const { return *spool_; }
  // After the last Write: blocks until every line is in the store, at most `within`. kTimeout says
  // how many are not and why. May be repeated.
  Status ShipAll(Duration within);
  // What is said before the program begins waits a moment for its first line. Any thread.
  void AwaitProgram() { shipper_->AwaitProgram(); }
  // The program begins: its first line goes to the store at once. Any thread.
  void SetBegun();
  // The machine is to go: lines go to the store at once. False: that was withdrawn. Any thread.
  void SetLeaving(bool leaving);
  // One past the last record in the store, as it moves; stays when this goes.
  std::shared_ptr<const std::atomic<int64_t>> shipped() const { return shipped_; }
  // "" or what does not work at the moment: the store, the disk.
  std::string trouble() const;

 private:
  LogPump(ObjectStore& store, Clock& clock) : store_(store), clock_(clock) {}
  void Wake();
  void Run();

  ObjectStore& store_;
  Clock& clock_;
  std::unique_ptr<LogSpool> spool_;
  std::unique_ptr<LogShipper> shipper_;
  const std::shared_ptr<std::atomic<int64_t>> shipped_ = std::make_shared<std::atomic<int64_t>>(1);
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace stoker
