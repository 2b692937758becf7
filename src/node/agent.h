// SPDX-License-Identifier: Apache-2.0
// The agent of one node: the real executor around agent/supervisor.h. The main thread takes events
// and hands out actions; one worker does what blocks (claim, staging, ending, final uploads), in
// order; the poller keeps in touch with the ledger; the notice watch asks the platform.
//
// The agent never dies of an error in its own upkeep while a program runs: what fails is retried
// and said in the node's report (`trouble`).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "agent/idle_gpu.h"
#include "agent/supervisor.h"
#include "controller/controller.h"
#include "ledger/ledger.h"
#include "node/attempt/attempt_run.h"
#include "node/cloud_logs.h"
#include "node/lease_keeper.h"
#include "node/mailbox.h"
#include "node/notice_watch.h"
#include "node/poller.h"
#include "node/usage_sampler.h"
#include "port/node_platform.h"
#include "port/process_runner.h"
#include "spec/job_spec.h"

namespace stoker::node {

// What the agent stands on; all must outlive it.
struct NodeParts {
  ObjectStore& store;
  Ledger& ledger;
  Controller& controller;
  ProcessRunner& runner;
  Clock& clock;
  NodePlatform& platform;
  TaskLimiter* limiter = nullptr;  // the runner's, where a machine is shared
  // The log that the machine's cloud itself keeps; empty: there is none.
  std::function<Result<std::unique_ptr<CloudLog>>(const CloudLogPlace&, ObjectStore&)> cloud_log{};
};

class Agent {
 public:
  // `cache_dir`: shared by all machines here that are of one user.
  Agent(NodeParts parts, std::string cache_dir);
  ~Agent();
  // Returns when the node has nothing more to do: the machine may be powered off. kCorrupt and
  // kTooNew: the record cannot be understood, nothing was started.
  Status Run();
  // After Run: why it left, where whoever looks for the machine should be told; else "".
  const std::string& off_why() const { return off_why_; }
  // From a signal-watching thread: the machine shuts down, `left` remains.
  void MachineStops(Duration left);
  // A line of stoker's own in the log of the attempt at hand; without one it is dropped.
  void Say(const std::string& line);
  // From the same: the platform has sent SIGTERM to all that runs here, and gives a notice.
  void PlatformSignals();
  // That may come after the signal that ended the program, by so much at most.
  void SignalsMayBeLate(Duration late);

 private:
  using Job_ = std::function<void()>;

  Status LearnSpec();
  void Post(AgentEvent event) { events_.Post(std::move(event)); }
  void Handle(const AgentEvent& event);
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
  void CompleteReport(NodeReport& report);
  std::shared_ptr<AttemptRun> RunOf(int attempt, int rank);
  void BeginCloudLogs();
  void ShipLeft();
  void ForgetOwn();
  void TellGathers();
  void TellDoing();
  void WatchGpus();
  Instant Now() { return {parts_.clock.Mono(), parts_.clock.Wall()}; }
  void RunWorker();

  NodeParts parts_;
  const NodeIdentity& me_;
  const std::string cache_dir_;
  JobSpec spec_;
  Job job_;             // as first read: what never changes of it
  Instant learned_at_;  // before it was read
  std::string incarnation_;
  Mailbox<AgentEvent> events_;
  Mailbox<Job_> work_;
  std::unique_ptr<Supervisor> supervisor_;
  std::mutex run_mutex_;
  std::shared_ptr<AttemptRun> run_;  // the attempt at hand; guarded by run_mutex_
  UsageSampler usage_;
  std::optional<IdleGpu> idle_gpu_;  // where the job asks for it
  std::optional<MonoTime> gpus_looked_;
  std::optional<MonoTime> settles_at_;       // the program has begun, and what that took may go
  std::atomic<bool> comes_up_again_{false};  // its job wants it again once it was stopped
  std::atomic<bool> ended_unsaved_{false};   // Saving::ended_unsaved
  std::atomic<bool> off_{false};
  std::string off_why_;  // see off_why()
  std::string doing_;    // AttemptLog::doing, as last seen
  std::string doing_told_;
  MonoTime doing_since_;
  bool noticed_ = false;  // of the main thread: its report has a notice
  bool gathers_ = true;   // as the machine was told; true: not told yet
  std::string gone_why_;  // set before `off_` by the poller, read after it
  std::unique_ptr<Poller> poller_;
  std::unique_ptr<NoticeWatch> notices_;
  std::unique_ptr<CloudLogs> cloud_logs_;  // null: the job asks for none
  std::unique_ptr<LeaseKeeper> lease_;     // null: it cannot be renewed
  std::thread worker_;
};

}  // namespace stoker::node
