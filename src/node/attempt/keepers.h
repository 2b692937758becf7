// SPDX-License-Identifier: Apache-2.0
// What keeps an attempt's work in the store while its program runs: checkpoints, outputs, metrics.
// Staging makes it ready, running starts it, finalizing has it keep the last.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/keeper_threads.h"
#include "node/attempt/attempt_metrics.h"
#include "node/attempt/context.h"
#include "node/outputs/output_sync.h"
#include "policy/drain.h"

namespace stoker::node {

class AttemptKeepers {
 public:
  // It must outlive it.
  explicit AttemptKeepers(AttemptContext& here) : here_(here), metrics_(here) {}

  // The code is unpacked, and nothing has run yet.
  void PlanOutputs();
  // When all is set up, before the program starts. `restored`: the checkpoint, or "". May be
  // repeated.
  Status Begin(const std::string& restored);
  // The program runs. `broken` as AttemptMetrics has it.
  void Start(const std::shared_ptr<Task>& task, std::function<void(const std::string& why)> broken);

  // An attempt that is over, or whose machine was given up, must not add to what others restore.
  Result<bool> MayCommit() const;

  // Any thread; before Begin nothing is there.
  void Hurry();
  std::optional<CheckpointKeeper::Written> written() const;
  Saving saves() const;  // as far as they show it
  std::string newest() const;
  // How much has been kept so far: what changes when a try has got something into the store.
  int64_t saved() const;
  // Files and outputs that were not kept, and `lost` beside them; with them the keepers' troubles.
  // `ended`: the program has.
  std::string Trouble(std::vector<std::string> lost, bool ended) const;
  void Complete(NodeReport& report) const;

  // For finalizing; null as long as the program has not been started by this process.
  CheckpointKeeper* keeper() { return threads_ ? keeper_.get() : nullptr; }
  KeeperThreads* threads() { return threads_.get(); }
  CheckpointFiles& files() { return *files_; }
  OutputSync* outputs() { return outputs_.get(); }
  AttemptMetrics& metrics() { return metrics_; }

 private:
  Status BeginCheckpoints(const std::string& restored);
  KeeperConfig ConfigOf(const std::string& restored);
  bool SilentForGood(int rank) const;
  void LookForStray();

  AttemptContext& here_;
  mutable std::mutex mutex_;  // guards that keeper_ and outputs_ are set, and stray_
  std::string stray_;         // what is saved where nobody keeps it
  MonoTime stray_due_;        // the next look for it; of the thread of outputs
  Duration stray_rest_;
  // In this order: each uses those before it until it is gone.
  std::unique_ptr<CheckpointFiles> files_;
  std::unique_ptr<CheckpointKeeper> keeper_;
  std::unique_ptr<KeeperThreads> threads_;
  std::unique_ptr<OutputPlan> plan_;
  std::unique_ptr<OutputSync> outputs_;
  AttemptMetrics metrics_;
};

}  // namespace stoker::node
