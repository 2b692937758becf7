// SPDX-License-Identifier: Apache-2.0
// One attempt on one simulated node, as node/attempt/attempt_run.h is the product's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/log_shipper.h"
#include "agent/log_spool.h"
#include "agent/supervisor.h"
#include "checkpoint/keeper.h"
#include "ledger/ledger.h"
#include "sim/node/host.h"
#include "sim/node/node_metrics.h"
#include "sim/node/program.h"
#include "spec/job_spec.h"

namespace stoker::sim {

class NodeAttempt {
 public:
  NodeAttempt(Host& host, Process& process, BucketClient& store, Ledger& ledger,
              const JobSpec& spec, const Job& job, int attempt, int rank);
  ~NodeAttempt();

  int attempt() const { return attempt_; }
  StagingEnded Stage(const std::string& restore);
  void CancelStaging() { cancelled_ = true; }
  // `broken`: a rule of the job is, and by what.
  Status Start(std::function<void(TaskExit)> ended, std::function<void()> activity,
               std::function<void(const std::string& why)> broken);
  void Hurry();
  void Terminate(const ToldToEnd& told);
  void Kill(const ToldToEnd& told);
  // As node/attempt/attempt_run.h.
  Saving SavingNow(bool ended_unsaved) const;
  // kill -9 by somebody else: the program just dies.
  void KillFromOutside();
  // The machine hangs: its program stands still for so long.
  void PauseProgram(int64_t ms);
  Status Finalize(const FinalizeAttempt& action);
  int64_t saved() const;  // for SavePatience
  void Complete(NodeReport& report);
  // The agent dies: so does the program, and nobody hears of its end.
  void DropProgram();
  // Another attempt takes its place: its program goes, its fibers end by themselves.
  void Close();

 private:
  Status OpenLog();
  Status TryStage(const std::string& restore, StagingEnded* result);
  Status Restore(const std::string& id, StagingEnded* result);
  Status BeginKeeper();
  void RunKeeper();
  void RunUploads();
  void RunShipper();
  Status FinalSync(MonoTime deadline);
  void KeepWhatIsLeft(MonoTime deadline);
  Status ShipAll(MonoTime deadline);
  std::string AtTerm() const;
  Result<bool> MayCommit();
  bool SilentForGood(int rank);
  std::unique_ptr<NodeMetrics> MakeMetrics();
  void Sleep(int64_t ms) { host_.world.scheduler().Sleep(ms); }

  Host& host_;
  Process& process_;
  BucketClient& store_;
  Ledger& ledger_;
  const JobSpec& spec_;
  const Job& job_;
  const int attempt_;
  const int rank_;
  bool cancelled_ = false;
  bool closed_ = false;
  bool signalled_ = false;
  std::optional<MonoTime> term_at_;
  std::optional<TaskExit> exit_;
  bool left_kept_ = false;
  std::string restored_;
  std::unique_ptr<LogSpool> spool_;
  std::unique_ptr<LogShipper> shipper_;
  Signal shipper_bell_;
  std::unique_ptr<CheckpointFiles> files_;
  std::unique_ptr<CheckpointKeeper> keeper_;
  Signal upload_bell_;
  std::unique_ptr<NodeMetrics> metrics_;
  std::unique_ptr<Program> program_;
};

}  // namespace stoker::sim
