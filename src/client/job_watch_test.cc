// SPDX-License-Identifier: Apache-2.0
#include "client/job_watch.h"

#include <gtest/gtest.h>

#include <string>

#include "test/contract/ledger_kit.h"
#include "test/contract/training_job.h"

namespace stoker::client {
namespace {

constexpr char kJob[] = "job1";

// A job of so many nodes that train, and report when they should.
class Watched {
 public:
  explicit Watched(int nodes) : nodes_(nodes) {
    Job job = TrainingJob(kJob, nodes, kit_.clock.Wall());
    job.host = "another";  // whose machines nobody here asks for
    CreateTrainingJob(*kit_.ledger, job);
  }

  void Report() {
    ++seq_;
    for (int rank = 0; rank < nodes_; ++rank) {
      EXPECT_TRUE(WriteReport(*kit_.ledger, TrainingReport(kJob, rank, seq_)).ok());
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
}  // namespace stoker::client
