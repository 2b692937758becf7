// SPDX-License-Identifier: Apache-2.0
// What an attempt's program says of its training, as node/metrics/ finds it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "node/attempt/context.h"
#include "node/metrics/collector.h"

namespace stoker::node {

class AttemptMetrics {
 public:
  // Its log must outlive it.
  explicit AttemptMetrics(AttemptContext& here) : here_(here) {}
  ~AttemptMetrics();

  // The program may write its metrics into it.
  std::string File() const;
  // When all that the program finds is there, and before it starts. `restored`: the checkpoint that
  // it begins from, or "". May be repeated.
  Status Begin(const std::string& restored);
  // The program runs. `broken` is called from a thread of this when a rule of the job is broken.
  void Start(std::function<void(const std::string& why)> broken);
  Status Finish(MonoTime deadline);
  // An agent that died had begun to read them: this one reads what is left, once the program is
  // gone. The lines of the log that the other one had not looked at are in the spool or in the
  // store.
  Status TakeUp();
  std::string trouble() const;  // any thread

 private:
  std::unique_ptr<MetricCollector> MakeCollector(const std::string& restored);
  int64_t WasSaved(const std::string& checkpoint);

  AttemptContext& here_;
  mutable std::mutex mutex_;
  std::unique_ptr<MetricCollector> collector_;  // mutex_ guards that it is set
  bool taken_up_ = false;
};

}  // namespace stoker::node
