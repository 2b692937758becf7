// SPDX-License-Identifier: Apache-2.0
// The section `slurm` of a job file.
#include "spec/places/slurm/section.h"

#include <gtest/gtest.h>

#include "spec/parse.h"
#include "spec/places/slurm/words.h"
#include "test/kit/places.h"

namespace stoker {
namespace {

std::string WrongWith(const std::string& section) {
  const auto spec = ParseJobSpec("run: x\nslurm: " + section, ParseOptions());
  return spec.ok() ? "" : spec.status().message();
}

TEST(SlurmSection, SaysWhatSbatchIsAskedFor) {
  const auto spec = ParseJobSpec(
      "run: x\nresources: {infra: slurm/gpu}\n"
      "slurm: {account: vision, qos: long, constraint: a100|h100, reservation: r1,\n"
      "        exclusive: true, time: 1-12:30:00, notice: 5m, options: [--mail-type=END]}\n",
      ParseOptions());
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const SlurmSpec& slurm = spec->sections.slurm;
  EXPECT_EQ(slurm.account + slurm.qos + slurm.constraint + slurm.reservation,
            "visionlonga100|h100r1");
  EXPECT_TRUE(slurm.exclusive);
  EXPECT_EQ(slurm.time->ms, Duration::Minutes(36 * 60 + 30).ms);
  EXPECT_EQ(slurm.notice->ms, Duration::Minutes(5).ms);
  EXPECT_EQ(slurm.options, std::vector<std::string>{"--mail-type=END"});
}

TEST(SlurmSection, SaysWhatIsWrong) {
  const auto expect = [](const std::string& section, const std::string& words) {
    EXPECT_NE(WrongWith(section).find(words), std::string::npos) << WrongWith(section);
  };
  expect("{acount: x}", "Did you mean 'account'?");
  expect("{account: 'a b'}", "'slurm.account' cannot be");
  expect("{qos: '$(id)'}", "without spaces and quotes");
  expect("{time: 30}", "'slurm.time' is not a time");
  expect("{time: 10s}", "out of range");
  expect("{time: 2-x}", "1-12:00:00");
  expect("{partition: gpu}", "slurm/PARTITION");
  expect("{options: [--array=1-9]}", "stoker sets --array itself");
  expect("{options: [--arr=1-9]}", "stoker sets --array itself");
  expect("{options: [-N3]}", "write it as --name");
  expect("{options: --nice}", "must be a list");
  expect("[]", "must be a map");
}

TEST(SlurmWords, Times) {
  EXPECT_EQ(ParseSlurmTime("90m")->ms, Duration::Minutes(90).ms);
  EXPECT_EQ(ParseSlurmTime("1-0")->ms, Duration::Hours(24).ms);
  EXPECT_EQ(ParseSlurmTime("2-03:04")->ms, Duration::Minutes(51 * 60 + 4).ms);
  EXPECT_EQ(ParseSlurmTime("00:01:30")->ms, 90'000);
  for (const char* wrong : {"", "30", "10:00", "1-", "-1", "1-1:1:1:1", "a:b:c", "1:2:3:4"}) {
    EXPECT_FALSE(ParseSlurmTime(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace stoker
