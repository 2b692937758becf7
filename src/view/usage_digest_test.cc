// SPDX-License-Identifier: Apache-2.0
#include "view/usage_digest.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "ledger/paths.h"
#include "test/kit/memory_store.h"

namespace stoker {
namespace {

std::string Course(const std::string& samples) {
  return R"({"format":1,"samples":[)" + samples + "]}";
}

// Waits a second, computes two seconds on one core, then one on three; ends.
constexpr char kPlain[] =
    R"({"at_ms":0,"cpu_seconds":0,"resident_bytes":0},
       {"at_ms":500,"cpu_seconds":0,"resident_bytes":0},
       {"at_ms":1000,"cpu_seconds":0,"resident_bytes":100},
       {"at_ms":2000,"cpu_seconds":1,"resident_bytes":200},
       {"at_ms":3000,"cpu_seconds":2,"resident_bytes":400},
       {"at_ms":3010,"cpu_seconds":2.5,"resident_bytes":400},
       {"at_ms":4000,"cpu_seconds":5,"resident_bytes":0},
       {"at_ms":9000,"cpu_seconds":5,"resident_bytes":0})";

TEST(UsageDigest, CountsOnlyWhileTheProgramRan) {
  const auto digest = DigestUsage(Course(kPlain), 2, 1);
  ASSERT_TRUE(digest.ok() && digest->has_value());
  EXPECT_EQ((*digest)->attempt, 2);
  EXPECT_EQ((*digest)->rank, 1);
  EXPECT_EQ((*digest)->span.ms, 3500);
  EXPECT_NEAR((*digest)->cpu_cores.mean, 5 / 3.5, 1e-6);
  // Over the last second; 0.5 s of CPU in 10 ms is no peak of 50 cores.
  EXPECT_NEAR((*digest)->cpu_cores.peak, 3, 1e-6);
  EXPECT_NEAR((*digest)->resident_bytes.mean, (100 + 200 + 400) / 3.0, 1e-6);
  EXPECT_EQ((*digest)->resident_bytes.peak, 400);
  EXPECT_EQ((*digest)->gpus, 0);
  EXPECT_EQ(UsageText(**digest), "CPU mean 1.43, peak 3.00 cores; memory mean 233 B, peak 400 B");
  const nlohmann::json json = UsageJson({**digest});
  EXPECT_EQ(json[0]["node"], 1);
  EXPECT_EQ(json[0]["resident_bytes"]["peak"], 400);
  EXPECT_FALSE(json[0].contains("gpus"));
}

// The program ended, or a disk was waited for, between the reading of its time and the sample.
TEST(UsageDigest, CpuTimeCountsFromWhenItWasRead) {
  const auto digest = DigestUsage(Course(R"({"at_ms":0,"cpu_seconds":0,"resident_bytes":8},
       {"at_ms":4500,"cpu_at_ms":2000,"cpu_seconds":4,"resident_bytes":8},
       {"at_ms":6000,"cpu_at_ms":6000,"cpu_seconds":12,"resident_bytes":8},
       {"at_ms":9000,"cpu_at_ms":6000,"cpu_seconds":12,"resident_bytes":8})"),
                                  1, 0);
  ASSERT_TRUE(digest.ok() && digest->has_value());
  EXPECT_NEAR((*digest)->cpu_cores.peak, 2, 1e-6);
  EXPECT_NEAR((*digest)->cpu_cores.mean, 2, 1e-6);
}

TEST(UsageDigest, SeveralGpus) {
  const auto digest = DigestUsage(Course(
                                      R"({"at_ms":0,"cpu_seconds":0,"resident_bytes":8,
              "gpu":[{"busy_percent":90,"memory_used_mib":1000},
                     {"busy_percent":30,"memory_used_mib":null}]},
             {"at_ms":2000,"cpu_seconds":1,"resident_bytes":8,
              "gpu":[{"busy_percent":20,"memory_used_mib":3000},{"busy_percent":0}]},
             {"at_ms":4000,"cpu_seconds":1,"resident_bytes":0})"),
                                  1, 0);
  ASSERT_TRUE(digest.ok() && digest->has_value());
  EXPECT_EQ((*digest)->gpus, 2);
  EXPECT_NEAR((*digest)->gpu_busy_percent.mean, 35, 1e-6);
  EXPECT_NEAR((*digest)->gpu_busy_percent.peak, 60, 1e-6);
  EXPECT_NEAR((*digest)->gpu_memory_bytes.peak, 3000.0 * 1024 * 1024, 1);
  EXPECT_EQ(UsageText(**digest),
            "CPU mean 0.25, peak 0.50 cores; memory mean 8 B, peak 8 B; 2 GPUs mean 35 %, peak 60 "
            "%, GPU memory mean 2.1 GB, peak 3.1 GB");
}

TEST(UsageDigest, OfGpusOnlyWhatWasSaidCounts) {
  const auto digest = DigestUsage(Course(R"({"at_ms":0,"cpu_seconds":0,"resident_bytes":8},
             {"at_ms":2000,"cpu_seconds":1,"resident_bytes":8,
              "gpu":[{"busy_percent":90,"memory_used_mib":1000}]},
             {"at_ms":4000,"cpu_seconds":1,"resident_bytes":8,
              "gpu":[{"busy_percent":30,"memory_used_mib":1000}]},
             {"at_ms":6000,"cpu_seconds":1,"resident_bytes":0})"),
                                  1, 0);
  ASSERT_TRUE(digest.ok() && digest->has_value());
  EXPECT_NEAR((*digest)->gpu_busy_percent.mean, 60, 1e-6);
  EXPECT_NEAR((*digest)->gpu_memory_bytes.mean, 1000.0 * 1024 * 1024, 1);
  EXPECT_EQ((*digest)->resident_bytes.mean, 8);
}

TEST(UsageDigest, OneSampleAndNone) {
  const auto one = DigestUsage(Course(R"({"at_ms":5,"cpu_seconds":1,"resident_bytes":7})"), 1, 0);
  ASSERT_TRUE(one.ok() && one->has_value());
  EXPECT_EQ((*one)->resident_bytes.mean, 7);
  EXPECT_EQ((*one)->cpu_cores.peak, 0);
  const auto none = DigestUsage(Course(R"({"at_ms":5,"cpu_seconds":0,"resident_bytes":0})"), 1, 0);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
}

TEST(UsageDigest, GarbageIsNoCourse) {
  for (const std::string text :
       {"", "[]", "{}", R"({"format":2,"samples":[]})", R"({"format":1,"samples":3})",
        R"({"format":1,"samples":[3]})", R"({"format":1,"samples":[{"at_ms":9},{"at_ms":2}]})"}) {
    EXPECT_EQ(DigestUsage(text, 1, 0).code(), Code::kCorrupt) << text;
  }
  const auto odd = DigestUsage(
      Course(R"({"at_ms":"x","cpu_seconds":-1e300,"resident_bytes":5,"gpu":[3,{"busy_percent":{}}]},
                {"at_ms":1e300,"cpu_seconds":[],"resident_bytes":1e300})"),
      1, 0);
  ASSERT_TRUE(odd.ok() && odd->has_value());
  EXPECT_EQ((*odd)->resident_bytes.peak, 5);
}

TEST(UsageDigest, OfAllAttemptsAndNodesThatHaveOne) {
  MemoryStore store;
  Job job;
  job.id = "abcd2345";
  for (const int number : {1, 2}) {
    Attempt attempt;
    attempt.number = number;
    attempt.launches = {1, 2};
    job.attempts.push_back(attempt);
  }
  ASSERT_TRUE(store.Put(paths::Usage(job.id, 1, 1), Course(kPlain)).ok());
  ASSERT_TRUE(store.Put(paths::Usage(job.id, 2, 0), Course(kPlain)).ok());
  ASSERT_TRUE(store.Put(paths::Usage(job.id, 7, 0), Course(kPlain)).ok());
  Status trouble;
  auto all = ReadUsage(store, job, &trouble);
  EXPECT_TRUE(trouble.ok());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].attempt * 10 + all[0].rank, 11);
  EXPECT_EQ(all[1].attempt * 10 + all[1].rank, 20);
  ASSERT_TRUE(store.Put(paths::Usage(job.id, 1, 0), "garbage").ok());
  all = ReadUsage(store, job, &trouble);
  EXPECT_EQ(all.size(), 2u);
  EXPECT_EQ(trouble.message(), "the usage of attempt 1, node 0, is damaged");
}

}  // namespace
}  // namespace stoker
