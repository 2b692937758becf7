// SPDX-License-Identifier: Apache-2.0
// One attempt on one node: its folder, its log, its program, its checkpoints and outputs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/log_mask.h"
#include "agent/log_pump.h"
#include "agent/supervisor.h"
#include "checkpoint/keeper_threads.h"
#include "contract/environment.h"
#include "job/job.h"
#include "ledger/ledger.h"
#include "node/attempt/own_variables.h"
#include "node/env/host_names.h"
#include "node/env/python_env.h"
#include "node/env/shell_step.h"
#include "node/metrics/collector.h"
#include "node/outputs/output_sync.h"
#include "node/outputs/unsaved.h"
#include "node/usage_sampler.h"
#include "port/clock.h"
#include "port/host_platform.h"
#include "port/object_store.h"
#include "port/process_runner.h"
#include "spec/job_spec.h"
#include "sys/task/task_limits.h"
#include "sys/thread_crew.h"
#include "sys/work_place.h"

namespace stoker::node {

struct AttemptRunConfig {
  const JobSpec& spec;
  const Job& job;
  int launch = 0;
  int attempt = 0;
  int rank = 0;
  std::string dir;  // the instance's folder
  std::string cache_dir;
  std::string state_dir;  // of the local provider
  // Where each job's attempts have their place (sys/work_place.h); "" = in `dir`, as the machine is
  // one job's alone.
  std::string work_dir;
  std::string address;
  TaskLimiter* limiter = nullptr;  // the runner's
  int gpus = 0;                    // that the machine's type promises
};

// The folder of a machine in which the lines of an attempt wait is called so, with its number.
inline constexpr char kSpoolPrefix[] = "spool-";

// Stage, Finalize and the destructor come from the worker; Start, Terminate from the main thread;
// the rest from any.
class AttemptRun {
 public:
  AttemptRun(ObjectStore& store, Ledger& ledger, ProcessRunner& runner, Clock& clock,
             AttemptRunConfig config);
  ~AttemptRun();

  int attempt() const { return config_.attempt; }
  // Opens the log; until the store answers, it waits and tries again, unless cancelled.
  Status OpenLog();
  StagingEnded Stage(const std::string& restore);
  void CancelStaging() { step_.Cancel(); }
  // `ended` is called from a thread of this run when the main process ended, `broken` from another
  // one when its metrics have broken a rule of the job.
  Status Start(const StartProgram& start, std::function<void(TaskExit)> ended,
               std::function<void()> activity, std::function<void(const std::string& why)> broken);
  // Whether a process of the program got checkpoints.signal.
  bool AskForCheckpoint();
  void Terminate();
  void Kill();
  // The last checkpoint, the last outputs, the last lines. Returns when all is in the store, or at
  // the deadline with what is not.
  Status Finalize(const FinalizeAttempt& action);
  // A former agent of this machine had done all of that. Before Finalize, on its thread.
  void AllIsSaved() { staged_ = true; }
  // Lines that a former agent of this machine left on its disk, of an attempt that others have
  // ended. Instead of Stage and Finalize; one try.
  Status ShipLeft(Duration within);
  // Instead of another Finalize: what is left is not kept, and said. It is moved to where it stays
  // when the machine goes: node/outputs/unsaved.h.
  void GiveUp();
  // Ends a Finalize that waits for the store; from then on it is time to give up. Any thread.
  void SaveNoLonger() { hurried_ = true; }
  bool hurried() const { return hurried_; }
  // How much has been kept so far: what changes when a try has got something into the store.
  int64_t saved() const;
  // Says what the report says of the program; and when and where its use was read.
  UsageLook Complete(NodeReport& report);
  // What it does besides running the program: NodeReport::doing. Any thread.
  std::string doing() const {
    const std::lock_guard lock(mutex_);
    return doing_;
  }
  void Say(const std::string& text);  // any thread; nothing before there is a log
  // From a notice on, lines wait for nothing: its machine may be gone before it is over.
  void SayNotice(const std::optional<Notice>& notice, const Saving& saving);
  // The job is wanted at another place.
  void SayMove(const Notice& notice, const Saving& saving);
  // How the program saves, as it is now. `ended_unsaved`: as there.
  Saving SavingNow(bool ended_unsaved) const;
  // A recommendation ends nothing: what there is is saved now, and lines wait no longer.
  void Heed(const HostAdvice& advice);

 private:
  std::string WorkDir() const { return place_ ? place_->path() : config_.dir + "/work"; }
  void ReadUsage();  // under mutex_, with a task_
  void TakePlace();
  Duration ForPlace();
  // Of the launch: an attempt after this one finds it.
  std::string InputsDir() const { return config_.dir + "/inputs"; }
  std::string CheckpointDir() const;
  std::string LastingCheckpointFolder() const;
  Status CheckCheckpointFolder(StagingEnded* result);
  void TellWhatIsThere(const std::string& lasting);
  Status MoveStrangersAside(const std::string& folder, const std::string& job,
                            const std::string& checkpoint);
  UnsavedPlace PlaceOfUnsaved() const;
  std::string Spare() const { return config_.dir + "/" + kSpare; }
  contract::NodeFacts Facts(const std::vector<std::string>& addresses, int master_port,
                            bool resume) const;
  HostPlan Hosts(const std::vector<std::string>& addresses) const;
  Status TryStage(const std::string& restore, StagingEnded* result);
  LogSink& Sink();  // masks the job's secrets
  Status LearnVariables(StagingEnded* result);
  Status PrepareFolder();
  Status FetchCode();
  void MakeNamedFolders();
  Status BringInputs(StagingEnded* result);
  Status AwaitItsGpus();
  Status SetUp(const std::string& restore, StagingEnded* result);
  Status RunSetup(const std::string& restore, StagingEnded* result);
  void TakeCopyFirst(const contract::Environment& env);
  Status WhySetupFailed(const TaskExit& exit, const std::string& output);
  void SayWhatIsNotHeld();
  void SayLeftBehind(const TaskExit& exit);
  void Does(const std::string& what) {
    const std::lock_guard lock(mutex_);
    doing_ = what;
  }
  // keepers.cc: checkpoints and outputs.
  Status RestoreCheckpoint(const std::string& id, StagingEnded* result);
  Status BeginKeepers();  // when all is set up, before the program starts
  void StartKeepers(std::function<void(const std::string& why)> broken);  // once it runs
  void LookForStray();
  Result<bool> MayCommit();
  bool SilentForGood(int rank);
  // metrics.cc: what the program says of its training.
  int64_t RestoredWasSaved();
  std::unique_ptr<MetricCollector> MakeCollector();
  Status BeginMetrics();
  Status FinishMetrics(MonoTime deadline);
  Status TakeUpMetrics();
  std::string MetricsFile() const;
  Status FinalSync(const FinalizeAttempt& action);
  Status FinalCheckpoint(MonoTime deadline);
  void SayNow(const Status& trouble, bool taken);
  void KeepWhatIsLeft(MonoTime deadline);
  // What an agent that died before this one left of the attempt, where the job goes no further.
  void KeepForerunners();
  // Out of the machine's folder: what a store with room would have kept.
  void MoveUnsavedAway(bool checkpoints);
  std::string NewestCheckpoint() const;
  std::string KeeperTrouble() const;
  // NodeReport::at_term. The caller holds mutex_.
  std::string AtTerm() const;
  void WatchProgram(std::function<void(TaskExit)> ended, std::function<void()> activity);

  ObjectStore& store_;
  Ledger& ledger_;
  ProcessRunner& runner_;
  Clock& clock_;
  const AttemptRunConfig config_;
  // Given back last, when nothing of the task is left.
  std::unique_ptr<sys::WorkPlace> place_;
  bool no_place_ = false;  // it was not to be had, which was said
  ShellStep step_;
  PythonEnv venv_;
  std::string guard_;  // node/env/editable.h; "" = none is needed
  contract::Environment from_setup_;
  OwnVariables own_;
  std::string restored_;
  bool set_up_ = false;  // of the attempt that is being staged
  bool staged_ = false;  // by this process, or saved; else a former agent's work may be there
  std::unique_ptr<LogPump> log_;
  std::shared_ptr<LogMask> mask_;  // guarded by mutex_; null while there is nothing to mask
  mutable std::mutex mutex_;
  std::shared_ptr<Task> task_;
  bool leaving_ = false;  // guarded by mutex_
  std::string mechanism_;
  TaskUsage usage_;
  std::optional<MonoTime> usage_read_;
  int64_t peak_resident_ = 0;
  std::string trouble_;
  std::string doing_;  // guarded by mutex_
  std::thread watcher_;
  std::atomic<bool> signalled_{false};
  std::atomic<int64_t> term_at_{-1};  // milliseconds of MonoTime: when SIGTERM was sent
  std::atomic<bool> hurried_{false};
  std::string said_;               // of what does not work at the end, last
  std::vector<std::string> lost_;  // what was given up, besides outputs
  Unsaved unsaved_;                // guarded by mutex_
  std::string left_behind_;        // guarded by mutex_; what is said of such processes
  std::string stray_;              // guarded by mutex_: what is saved where nobody keeps it
  MonoTime stray_due_;             // the next look for it; of the thread of outputs
  Duration stray_rest_;
  // Threads beside a job that needs the processors: they wait for the wire most of their time, and
  // end with what they move.
  ThreadCrew crew_;
  const Movers movers_{&crew_, &clock_, {16, 8, int64_t{64} << 20}};
  // In this order: each uses those before it until it is gone.
  std::unique_ptr<CheckpointFiles> files_;
  std::unique_ptr<CheckpointKeeper> keeper_;
  std::unique_ptr<KeeperThreads> keeper_threads_;
  std::unique_ptr<OutputPlan> output_plan_;
  std::unique_ptr<OutputSync> outputs_;
  bool left_kept_ = false;  // or was tried
  std::unique_ptr<MetricCollector> metrics_;
  bool metrics_taken_up_ = false;
};

}  // namespace stoker::node
