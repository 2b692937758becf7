// SPDX-License-Identifier: Apache-2.0
#include "cli/job_watch.h"

#include <gtest/gtest.h>

#include <string>

#include "base/digest.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "spec/print.h"
#include "test/contract/ledger_kit.h"

namespace stoker::cli {
namespace {

constexpr char kJob[] = "job1";

// A job of so many nodes that train, and report when they should.
class Watched {
 public:
  explicit Watched(int nodes) : nodes_(nodes) {
    JobSpec spec;
    spec.name = "train";
    spec.run = "true";
    spec.num_nodes = nodes;
    const std::string text = PrintJobSpec(spec);
    Job job = kit_.MakeJob(kJob, "train");
    job.num_nodes = nodes;
    job.spec_digest = Sha256Hex(text);
    job.state = JobState::kRunning;
    job.host = "another";  // whose machines nobody here asks for
    Request request;
    request.number = 1;
    Attempt attempt;
    attempt.number = 1;
    attempt.state = AttemptState::kRunning;
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
    EXPECT_TRUE(CreateJob(*kit_.ledger, job, text).ok());
  }

  void Report() {
    ++seq_;
    for (int rank = 0; rank < nodes_; ++rank) {
      NodeReport report;
      report.job = kJob;
      report.attempt = 1;
      report.rank = rank;
      report.launch = rank + 1;
      report.phase = NodePhase::kRunning;
      report.seq = seq_;
      EXPECT_TRUE(WriteReport(*kit_.ledger, report).ok());
    }
  }

  // Passes in an hour of looks each second.
  int Hour() {
    Controller controller(
        *kit_.ledger,
        [](const std::string&) -> Result<Provider*> { return Status(Code::kInvalid, "none"); },
        kit_.clock);
    JobWatch watch(controller, kit_.clock, {}, kJob);
    int passes = 0;
    for (int second = 0; second < 3600; ++second, kit_.clock.now += 1000) {
      if (second % 30 == 0) Report();
      const auto seen = watch.Look();
      EXPECT_TRUE(seen.ok()) << seen.status().ToString();
      if (seen.ok() && *seen) ++passes;
    }
    return passes;
  }

 private:
  LedgerKit kit_;
  const int nodes_;
  int64_t seq_ = 0;
};

TEST(JobWatch, LooksAtAQuietJobEachFifteenSecondsHoweverManyNodesItHas) {
  for (const int nodes : {1, 2, 16}) EXPECT_EQ(Watched(nodes).Hour(), 240) << nodes;
}

}  // namespace
}  // namespace stoker::cli
