// SPDX-License-Identifier: Apache-2.0
// The thread that writes a node's report. It does nothing else: however long a pass over the job
// takes, which asks providers for machines, its peers see that this node lives.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "job/job.h"
#include "ledger/ledger.h"

namespace stoker::node {

class ReportWriter {
 public:
  // Adds what only the node knows (usage, log counters, trouble) just before a report is written.
  using Complete = std::function<void(NodeReport&)>;
  ReportWriter(Ledger& ledger, Clock& clock, Complete complete);
  // Writes what was published and not yet written, once more.
  ~ReportWriter();

  void Start();
  // The report to write as soon as possible. Thread-safe, as all of these.
  void Publish(const NodeReport& report);
  // What the next report would say, for the one that comes without news. `publishes` false: none
  // may be written now (the slot is not this node's).
  void Refresh(const NodeReport& report, bool publishes);
  // Blocks until what was published before has been tried once. False: the store has not taken it.
  bool Tried();
  // Some report of this node's is in the store.
  bool AnyWritten();
  // Blocks until the last report given to Publish is in the store, at most `within`.
  bool Settle(Duration within);

 private:
  void Run();
  std::optional<MonoTime> Due() const;
  void Write();

  Ledger& ledger_;
  Clock& clock_;
  const Complete complete_;
  std::mutex mutex_;
  std::condition_variable changed_;
  NodeReport report_;  // guarded by mutex_, like what follows
  bool have_report_ = false;
  bool publishes_ = false;
  bool stop_ = false;
  int64_t published_ = 0;  // how many were given to Publish
  int64_t tried_ = 0;      // so many of them were tried, or were overtaken by one that was
  int64_t written_ = 0;    // so many are in the store, or were overtaken by one that is
  MonoTime last_try_;
  std::string trouble_;
  int64_t seq_ = 0;  // the thread's own, like what follows
  bool tried_at_end_ = false;
  std::thread thread_;
};

}  // namespace stoker::node
