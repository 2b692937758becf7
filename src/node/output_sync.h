// SPDX-License-Identifier: Apache-2.0
// The thread that keeps a job's outputs in the store while its program runs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "node/mailbox.h"
#include "spec/job_spec.h"
#include "sync/outputs.h"

namespace stoker::node {

struct OutputSyncConfig {
  const JobSpec& spec;
  std::string job;
  int attempt = 0;
  int rank = 0;
  std::string workdir;
  std::string staging;
  Movers movers;
};

class OutputSync {
 public:
  OutputSync(OutputSyncConfig config, ObjectStore& store, Clock& clock);
  ~OutputSync();
  // After the program ended: stops the thread and sends what is left.
  Status Finish(MonoTime deadline);
  std::string trouble();

 private:
  void Run();
  void Stop();

  std::vector<std::unique_ptr<CheckpointFiles>> files_;
  std::unique_ptr<OutputKeeper> keeper_;
  Bell bell_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::string trouble_;
  std::thread thread_;
};

}  // namespace stoker::node
