// SPDX-License-Identifier: Apache-2.0
// The thread that keeps a node and the ledger in touch: writes the node's report, runs a reconcile
// pass (or, while the job runs undisturbed, glances at the record), and posts what it read. One
// thread does all three, so that a report is in the store before the pass that goes by it.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "agent/ledger_watch.h"
#include "agent/look_pace.h"
#include "agent/supervisor.h"
#include "controller/controller.h"
#include "ledger/ledger.h"
#include "node/mailbox.h"

namespace stoker::node {

class Poller {
 public:
  using Post = std::function<void(AgentEvent)>;
  // Adds what only the node knows (usage, log counters, trouble) just before a report is written.
  using Complete = std::function<void(NodeReport&)>;
  // Gets, once, that the job's record is gone for good (agent/ledger_watch.h), and why that is so.
  using Gone = std::function<void(const std::string& why)>;
  Poller(Ledger& ledger, Controller& controller, Clock& clock, std::string job, Post post,
         Complete complete, Gone gone);
  ~Poller();

  // `act` false: this node only looks (recovery: controller). Until Start nothing is done.
  void Start(bool act);
  // The report to write as soon as possible. Thread-safe.
  void Publish(const NodeReport& report);
  // What the next report would say, for the one that comes without news. `publishes` false: none
  // may be written now (the slot is not this node's). Thread-safe.
  void Refresh(const NodeReport& report, bool publishes);
  // Run a pass now. Thread-safe.
  void Hurry() { bell_.Ring(); }
  // Blocks until the last report given to Publish is in the store, at most `within`.
  bool Settle(Duration within);
  std::string trouble();

 private:
  void Run();
  bool WriteReport();
  void Look(bool rung);
  void Pass();
  void Failed(const Status& status);
  void LookForRecord(const Status& failure);

  Ledger& ledger_;
  Controller& controller_;
  Clock& clock_;
  const std::string job_;
  const Post post_;
  const Complete complete_;
  const Gone gone_;
  Bell bell_;
  std::atomic<bool> stop_{false};
  bool act_ = true;
  MonoTime last_write_;
  LookPace pace_;
  LedgerWatch ledger_watch_;
  std::mutex mutex_;
  NodeReport report_;  // guarded by mutex_, like what follows
  bool have_report_ = false;
  bool dirty_ = false;
  bool writing_ = false;  // a report is on its way
  bool publishes_ = false;
  std::string trouble_;
  int64_t seq_ = 0;
  std::thread thread_;
};

}  // namespace stoker::node
