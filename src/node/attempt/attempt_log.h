// SPDX-License-Identifier: Apache-2.0
// What is told of an attempt on its node: the lines of its log, without the job's secrets, and what
// it does at the moment.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/log_mask.h"
#include "agent/log_pump.h"
#include "job/job.h"

namespace stoker::node {

// The folder of a machine in which the lines of an attempt wait is called so, with its number.
inline constexpr char kSpoolPrefix[] = "spool-";

class AttemptLog {
 public:
  // `dir`: the machine's folder. Store and clock must outlive it.
  AttemptLog(ObjectStore& store, Clock& clock, const std::string& dir, LogPlace place);

  // `told`, once it is open, of what the store has of it (LogPump::shipped). Before Open.
  using Shipped = std::shared_ptr<const std::atomic<int64_t>>;
  void WhenOpen(std::function<void(Shipped)> told) { when_open_ = std::move(told); }
  // Until the store answers, it waits and tries again, unless `cancelled`. Once it is open this
  // returns at once.
  Status Open(const std::function<bool()>& cancelled);
  bool is_open() const { return pump_ != nullptr; }  // for who opens it
  // Each of these is replaced in all that follows; the first call counts.
  void Mask(const std::vector<std::string>& secrets);

  // Nothing before there is a log. Any thread.
  void Say(const std::string& text);
  std::string Masked(const std::string& text) const;
  // Where program and setup write to. After Open.
  LogSink& Sink();
  LogPump& pump() { return *pump_; }
  const LogPump& pump() const { return *pump_; }
  // The program has ended, and all that it wrote has come.
  void FlushMask();

  // The machine may be gone before it is over: lines wait for nothing. False: that was withdrawn.
  void SetLeaving(bool leaving);
  // NodeReport::doing. Any thread.
  void Does(const std::string& what);
  std::string doing() const;
  void Complete(NodeReport& report) const;

 private:
  ObjectStore& store_;
  Clock& clock_;
  const std::string folder_;
  const LogPlace place_;
  std::function<void(Shipped)> when_open_;
  std::unique_ptr<LogPump> pump_;  // once there, it stays
  mutable std::mutex mutex_;       // guards what follows, and that pump_ is set
  std::shared_ptr<LogMask> mask_;  // null while there is nothing to mask
  bool leaving_ = false;
  std::string doing_;
};

}  // namespace stoker::node
