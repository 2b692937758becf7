// SPDX-License-Identifier: Apache-2.0
// A node's agent in the simulator: the executor around the shipped Supervisor, as node/agent.h is
// the product's. Fibers stand where the product has threads; what they run (Controller, ledger,
// claims, keeper, log shipper) is the shipped code.
//
//   node_agent.cc       the main loop and the worker
//   node_agent_poll.cc  reports, reconcile passes, notices
//   node_attempt.cc     one attempt: staging, program, checkpoints, lines
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/look_pace.h"
#include "agent/supervisor.h"
#include "controller/controller.h"
#include "ledger/ledger.h"
#include "sim/bucket/bucket.h"
#include "sim/cloud/cloud.h"
#include "sim/node/host.h"
#include "sim/node/node_attempt.h"
#include "spec/job_spec.h"

namespace stoker::sim {

class NodeAgent {
 public:
  NodeAgent(Host& host, Process& process);
  ~NodeAgent();
  void Start();
  // The program goes down with the agent.
  void DropProgram();
  const Supervisor* supervisor() const { return supervisor_.get(); }
  NodeAttempt* attempt() { return run_.get(); }

 private:
  void Main();
  Status Prepare();
  void Loop();
  void Post(AgentEvent event);
  void Handle(const AgentEvent& event);
  void Work(std::function<void()> job);
  void RunWorker();
  void Do(const ClaimSlot& action);
  void Do(const StageNode& action);
  void Do(const CancelStaging& action);
  void Do(const StartProgram& action);
  void Do(const AskForCheckpoint& action);
  void Do(const TerminateProgram& action);
  void Do(const KillProgram& action);
  void Do(const CheckEnd& action);
  void Do(const FinalizeAttempt& action);
  void Do(const Publish& action);
  void Do(const Hurry& action);
  void Do(const KeepMachine& action);
  void Do(const PowerOff& action);
  void Claim(int attempt, int rank);
  void Finalize(FinalizeAttempt action, int rank);
  std::shared_ptr<NodeAttempt> RunOf(int attempt, int rank);
  // Waits with growing pauses until `call` works or fails for good.
  template <typename T>
  Result<T> Persist(const std::function<Result<T>()>& call);
  void Sleep(int64_t ms) { host_.world.scheduler().Sleep(ms); }
  Instant Now() { return {host_.clock.Mono(), host_.clock.Wall()}; }
  void Leave(const std::string& why);

  // node_agent_poll.cc
  void Poll();
  void WriteReports();
  // When the next report is to be written; unset: not before something changes.
  std::optional<MonoTime> ReportDue() const;
  void WriteReport();
  void NewsFirst();
  void Look(bool rung);
  void Heed(MonoTime now);
  void Pass();
  bool MayAct() const;
  void WatchNotices();
  std::optional<Notice> NoticeNow() const;
  void SeeSaving();
  ToldToEnd WhyToEnd() const;

  Host& host_;
  Process& process_;
  BucketClient store_;
  CloudClients clouds_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<Supervisor> supervisor_;
  std::string incarnation_;
  JobSpec spec_;
  Job job_;  // as first read
  std::deque<AgentEvent> events_;
  Signal arrived_;
  std::deque<std::function<void()>> work_;
  Signal work_arrived_;
  Signal bell_;  // the poller's
  std::shared_ptr<NodeAttempt> run_;
  std::vector<std::shared_ptr<NodeAttempt>> former_;  // some fiber may still be in them
  bool off_ = false;
  std::optional<MonoTime> lease_renewed_;
  std::optional<Notice> told_notice_;
  bool noticed_ = false;
  int64_t heard_at_ = -1;  // of told_notice_; true time
  ToldToEnd told_;         // of the notices of this attempt
  // The report's, as in node/report_writer.h.
  NodeReport report_;
  bool have_report_ = false;
  bool publishes_ = false;
  int64_t published_ = 0;
  int64_t tried_ = 0;
  int64_t written_ = 0;
  int64_t seq_ = 0;
  MonoTime last_try_;
  Signal news_;
  Signal tried_now_;
  // The poller's.
  std::optional<LookPace> pace_;
  std::vector<NodeReport> peers_;
  std::string trouble_;
};

}  // namespace stoker::sim
