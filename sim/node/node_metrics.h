// SPDX-License-Identifier: Apache-2.0
// What a simulated program says of its training, rules about it, and how it gets into the store: as
// node/metrics/collector.h is the product's, around the same rules and the same segments. Of rank 0
// alone, and only where the job has a rule.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "job/job.h"
#include "ledger/metrics/segments.h"
#include "metrics/rules/rule_watch.h"
#include "sim/bucket/bucket.h"
#include "sim/node/host.h"
#include "spec/job_spec.h"

namespace stoker::sim {

class NodeMetrics {
 public:
  NodeMetrics(Host& host, Process& process, BucketClient& store, const JobSpec& spec,
              const Job& job, int attempt);
  // Before the program starts: what earlier attempts have.
  Status Begin();
  void Start(std::function<void(const std::string& why)> broken);
  // Once the program is over, or another agent's was: all that it said is in the store. May be
  // repeated while it is not ok.
  Status Finish();

 private:
  void Run();
  void Look();
  Status BeginWriter();
  Status Flush();

  Host& host_;
  Process& process_;
  BucketClient& store_;
  const std::string job_;
  const int attempt_;
  metrics::RuleWatch watch_;
  MetricWriter writer_;
  std::function<void(const std::string&)> broken_;
  bool begun_ = false;    // the writer knows what is in the store
  bool stopped_ = false;  // the fiber may end
  size_t read_ = 0;       // of what was said
  MetricSeries series_;
  MonoTime flushed_;
};

}  // namespace stoker::sim
