// SPDX-License-Identifier: Apache-2.0
// The thread that keeps a node and the ledger in touch: runs a reconcile pass (or, while the job
// runs undisturbed, glances at the record and heeds those who make the passes), and posts what it
// read. The node's report is written by
// another (node/report_writer.h), since a pass may wait long for a provider; but news are in the
// store before the pass that goes by them.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/ledger_watch.h"
#include "agent/look_pace.h"
#include "agent/supervisor.h"
#include "controller/controller.h"
#include "ledger/ledger.h"
#include "node/report_writer.h"
#include "sys/bell.h"

namespace stoker::node {

class Poller {
 public:
  using Post = std::function<void(AgentEvent)>;
  using CompleteReport = ReportWriter::Complete;
  // Gets, once, that the job's record is gone for good (agent/ledger_watch.h), and why that is so.
  using Gone = std::function<void(const std::string& why)>;
  // `launch`: that of this node.
  Poller(Ledger& ledger, Controller& controller, Clock& clock, std::string job, int launch,
         Post post, CompleteReport complete, Gone gone);
  ~Poller();

  // `act` false: this node only looks (recovery: controller). Until Start nothing is done.
  void Start(bool act);
  // The report to write as soon as possible. Thread-safe.
  void Publish(const NodeReport& report);
  // What the next report would say, for the one that comes without news. `publishes` false: none
  // may be written now (the slot is not this node's). Thread-safe.
  void Refresh(const NodeReport& report, bool publishes);
  // Runs a pass now. Thread-safe.
  void Hurry() { bell_.Ring(); }
  // Blocks until the last report given to Publish is in the store, at most `within`.
  bool Settle(Duration within);

 private:
  void Complete(NodeReport& report);
  void Run();
  void Look(bool rung);
  void Pass();
  void Heed(MonoTime now);
  void Failed(const Status& status);
  void OnTrouble(const Status& trouble);
  void LookForRecord(const Status& failure);

  Ledger& ledger_;
  Controller& controller_;
  Clock& clock_;
  const std::string job_;
  const Post post_;
  const CompleteReport complete_;
  const Gone gone_;
  Bell bell_;
  std::atomic<bool> stop_{false};
  bool act_ = true;
  LookPace pace_;
  std::vector<NodeReport> peers_;  // as last read, the poller's own among them
  LedgerWatch ledger_watch_;
  std::mutex mutex_;
  std::string trouble_;  // guarded by mutex_
  std::thread thread_;
  ReportWriter reports_;  // its last report tells the trouble above
};

}  // namespace stoker::node
