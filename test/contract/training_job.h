// SPDX-License-Identifier: Apache-2.0
// For tests: a job that trains in its first attempt.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/digest.h"
#include "job/job.h"
#include "ledger/ledger.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "spec/print.h"

namespace stoker {

// Of so many nodes: launch N serves rank N-1, all asked for at once. Its id, and what the record
// needs besides, are the caller's; `CreateTrainingJob` adds the spec.
inline Job TrainingJob(const std::string& id, int nodes, WallTime since) {
  Job job;
  job.id = id;
  job.name = "train";
  job.num_nodes = nodes;
  job.created = since;
  job.state = JobState::kRunning;
  Request request;
  request.number = 1;
  Attempt attempt;
  attempt.number = 1;
  attempt.state = AttemptState::kRunning;
  attempt.opened = since;
  attempt.running = since;
  for (int slot = 0; slot < nodes; ++slot) {
    request.slots.push_back(slot);
    Launch launch;
    launch.number = slot + 1;
    launch.slot = slot;
    launch.request = 1;
    launch.index = slot;
    job.launches.push_back(launch);
    attempt.launches.push_back(launch.number);
  }
  job.requests.push_back(request);
  job.attempts.push_back(attempt);
  return job;
}

inline void CreateTrainingJob(Ledger& ledger, Job job) {
  JobSpec spec;
  spec.name = job.name;
  spec.run = "true";
  spec.num_nodes = job.num_nodes;
  const std::string text = PrintJobSpec(spec);
  job.spec_digest = Sha256Hex(text);
  EXPECT_TRUE(CreateJob(ledger, job, text).ok());
}

// What a node of it reports.
inline NodeReport TrainingReport(const std::string& job, int rank, int64_t seq) {
  NodeReport report;
  report.job = job;
  report.attempt = 1;
  report.rank = rank;
  report.launch = rank + 1;
  report.incarnation = "x";
  report.phase = NodePhase::kRunning;
  report.seq = seq;
  return report;
}

}  // namespace stoker
