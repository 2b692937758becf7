// SPDX-License-Identifier: Apache-2.0
// `logs: {cloud: true}` on a node: a thread that carries the logs of its attempts on to the cloud's
// own, one attempt after the other, as far as the store has them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "agent/mirror/log_mirror.h"
#include "port/clock.h"
#include "port/cloud_log.h"
#include "port/object_store.h"

namespace stoker::node {

struct CloudLogsConfig {
  std::string job;
  std::string dir;  // the machine's folder: "cloud-log-ATTEMPT-RANK" is where each log is
  std::function<Result<std::unique_ptr<CloudLog>>(int attempt, int rank)> open;
  std::function<void(const std::string&)> say;  // a line for the log of the attempt at hand
};

class CloudLogs {
 public:
  // Both must outlive it.
  CloudLogs(ObjectStore& store, Clock& clock, CloudLogsConfig config);
  ~CloudLogs();  // what is on its way is given the time of its timeouts

  // `end`: one past the last line that the store has, as it moves. What earlier attempts had left
  // on this machine goes on, too. Any thread.
  void Follow(int attempt, int rank, std::shared_ptr<const std::atomic<int64_t>> end);
  // Returns once all is there that the store has, of earlier attempts on this machine, too, or
  // after `within`. What failed before is tried once more. False: some lines are not there, and
  // trouble() says so.
  bool Finish(Duration within);
  // "" or why lines do not get there. Any thread.
  std::string trouble() const;

 private:
  using Id = std::pair<int, int>;  // (attempt, rank)
  struct One;
  void Run();
  bool Look(One& one);
  void AddLeft();  // with mutex_ held

  ObjectStore& store_;
  Clock& clock_;
  const CloudLogsConfig config_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable bell_;
  std::map<Id, std::shared_ptr<One>> all_;
  bool left_added_ = false;
  bool idle_ = false;  // all is there, as of the last look
  bool rung_ = false, hurry_ = false, stop_ = false;
  std::string trouble_;
  bool said_ = false;  // of the thread: that it cannot be opened
  std::thread thread_;
};

}  // namespace stoker::node
