// SPDX-License-Identifier: Apache-2.0
#include "spec/text/infra.h"

#include <gtest/gtest.h>

#include "spec/text/host_words.h"
#include "test/kit/places.h"

namespace stoker {
namespace {

TEST(Infra, PartsOfAWord) {
  EXPECT_EQ(ParseInfra("local"), (Infra{"local", "", ""}));
  EXPECT_EQ(ParseInfra("slurm"), (Infra{"slurm", "", ""}));
  EXPECT_EQ(ParseInfra("slurm/gpu"), (Infra{"slurm", "gpu", ""}));
  EXPECT_EQ(ParseInfra("ssh/lab"), (Infra{"ssh", "lab", ""}));
  EXPECT_EQ(ParseInfra("other/a/b"), (Infra{"other", "a", "b"}));
}

TEST(Infra, AZoneNamesItsRegion) {
  for (const auto& [given, kept] : std::vector<std::pair<std::string, std::string>>{
           {"aws/us-east-1a", "aws/us-east-1/us-east-1a"},
           {"aws/us-west-2-lax-1a", "aws/us-west-2/us-west-2-lax-1a"},
           {"gcp/us-central1-a", "gcp/us-central1/us-central1-a"},
           {"gcp/us-central1/us-central1-a", "gcp/us-central1/us-central1-a"},
           {"aws/us-gov-west-1", "aws/us-gov-west-1"},
           {"gcp/us-central1", "gcp/us-central1"},
           {"gcp/nowhere", "gcp/nowhere"},
           {"slurm/gpu2-big", "slurm/gpu2-big"}}) {
    const auto word = CheckInfra("--infra", given);
    ASSERT_TRUE(word.ok()) << given;
    EXPECT_EQ(*word, kept);
  }
}

TEST(Infra, WordsOfProvidersInRecords) {
  EXPECT_EQ(InfraWordOf("ec2"), "aws");
  EXPECT_EQ(InfraWordOf("gce"), "gcp");
  EXPECT_EQ(InfraWordOf("local"), "local");
  EXPECT_EQ(InfraWordOf("another"), "another");
}

TEST(Infra, CapitalsOfTheFirstPartDoNotCount) {
  const auto word = CheckInfra("--infra", "LOCAL");
  ASSERT_TRUE(word.ok());
  EXPECT_EQ(*word, "local");
}

TEST(Infra, WhatIsNoPlaceIsRefused) {
  for (const char* bad : {"", "/", "local/", "local/a", "locl", "aws/us east", "local\n", "../x"}) {
    const auto word = CheckInfra("--infra", bad);
    EXPECT_TRUE(word.status().Is(Code::kInvalid)) << bad;
    EXPECT_FALSE(word.status().next().empty()) << bad;
  }
}

TEST(HostWords, WhatSshTakesAndNoShellReadsOtherwise) {
  for (const char* good : {"box", "me@box", "10.0.0.7", "a-b.example.org", "me@fe80::1", "x_1"}) {
    EXPECT_TRUE(IsHostWord(good)) << good;
  }
  for (const char* bad : {"", "-oProxyCommand=x", "me@-l", "@box", "me@", "a b", "a;b", "$(x)",
                          "a@b@c", "a/b", ".hidden", "b\n", "a'b", "a%h"}) {
    EXPECT_FALSE(IsHostWord(bad)) << bad;
  }
}

}  // namespace
}  // namespace stoker
