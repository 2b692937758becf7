// SPDX-License-Identifier: Apache-2.0
#include "cli/cloud_records.h"

#include <gtest/gtest.h>

#include "test/contract/ledger_kit.h"

namespace stoker::cli {
namespace {

TEST(CloudRecords, EndWhatIsClosedOnceItIsKeptNoLonger) {
  LedgerKit kit;
  Job job = kit.MakeJob("job1", "x");
  AppendRequest(job, {0, 1, 2, 3}).token = "token1";
  const WallTime far = kit.clock.Wall() + Duration::Hours(1'000'000);
  for (Launch& launch : job.launches) {
    launch.closed = launch.index > 0;
    if (launch.closed) launch.close_reason = CloseReason::kKept;
  }
  job.launches[2].kept_until = far;
  job.launches[3].kept_until = WallTime{1'000};
  ASSERT_TRUE(CreateJob(*kit.ledger, job, "x").ok());
  CloudRecords records(*kit.ledger);
  EXPECT_FALSE(records.HasEnded("job1", "token1", 0));
  EXPECT_TRUE(records.HasEnded("job1", "token1", 1));
  EXPECT_FALSE(records.HasEnded("job1", "token1", 2)) << "it is kept";
  EXPECT_TRUE(records.HasEnded("job1", "token1", 3)) << "its time is over";
  EXPECT_FALSE(records.HasEnded("job1", "another", 1));
  EXPECT_FALSE(records.HasEnded("job2", "token1", 1));
}

}  // namespace
}  // namespace stoker::cli
