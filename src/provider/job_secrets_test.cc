// SPDX-License-Identifier: Apache-2.0
#include "provider/job_secrets.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "test/kit/memory_store.h"

namespace stoker {
namespace {

// Nobody answers at that address: what was asked for would be kUnavailable.
TEST(JobSecrets, AreAllLookedAtBeforeOneIsPut) {
  ::setenv("AWS_ACCESS_KEY_ID", "AKIA1", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "key", 1);
  ::setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 1);
  MemoryStore store;
  Job job;
  job.id = "job1";
  job.secrets_in = {{"ec2", "", "us-east-1", ""}};
  const Status put = PutJobSecrets({"ledger1", &store}, job,
                                   {{"FIRST", "v"}, {"LAST", std::string(8193, 'v')}}, WallTime{});
  EXPECT_TRUE(put.Is(Code::kNoSpace)) << put.ToString();
  EXPECT_TRUE(store.List("")->objects.empty()) << "no vault is noted";
}

}  // namespace
}  // namespace stoker
