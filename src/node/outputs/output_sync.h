// SPDX-License-Identifier: Apache-2.0
// The thread that keeps a job's outputs in the store while its program runs.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "node/outputs/output_plan.h"
#include "outputs/output_keeper.h"
#include "outputs/output_list.h"
#include "sys/bell.h"

namespace stoker::node {

struct OutputSyncConfig {
  OutputPlan& plan;  // must outlive it
  std::string job;
  int attempt = 0;
  int rank = 0;
  std::string workdir;
  std::string staging;
  Movers movers;
  // Takes a line for the log of what is left out; from the thread, and from Finish and GiveUp.
  std::function<void(const std::string& line)> say;
  // Called from the thread after each look; what it takes counts as the look's.
  std::function<void()> beside;
};

class OutputSync {
 public:
  OutputSync(OutputSyncConfig config, ObjectStore& store, Clock& clock);
  ~OutputSync();
  // After the program ended: stops the thread and sends what is left. Not ok: something is left
  // that another call may still keep.
  Status Finish(MonoTime deadline);
  // Instead of another Finish: what is left is left out.
  void GiveUp();
  std::string trouble();
  // What was left out, a line each, for the job's owner. Any thread.
  std::vector<std::string> left_out();
  // After Finish or GiveUp: paths in the work directory that would have been kept if they could
  // have been read, or if the store had had room.
  std::vector<std::string> unsaved() const;
  // Files that have been uploaded so far. Any thread.
  int64_t uploaded() const { return uploaded_; }
  // After a Finish that was ok: the entries of `outputs` of which neither this attempt nor one
  // before it has kept anything on any node. Any thread.
  std::vector<std::string> missing();

 private:
  void AddSource(const OutputPlace& place);
  void AddMade(MonoTime deadline);
  Status LookForMissing();
  void Run();
  void Stop();
  void Look(const Status& status);

  const OutputSyncConfig config_;
  ObjectStore& store_;
  Clock& clock_;
  bool made_added_ = false;
  std::vector<std::unique_ptr<CheckpointFiles>> files_;
  std::unique_ptr<OutputKeeper> keeper_;
  Bell bell_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::string trouble_;
  std::map<std::string, std::string> left_out_;  // path -> the line that was said
  std::atomic<int64_t> uploaded_{0};
  std::vector<std::string> not_chosen_;  // what the plan says of what nobody declared
  std::vector<std::string> missing_;
  std::thread thread_;
};

}  // namespace stoker::node
