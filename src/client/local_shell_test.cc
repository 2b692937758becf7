// SPDX-License-Identifier: Apache-2.0
#include "client/local_shell.h"

#include <gtest/gtest.h>

namespace stoker::client {
namespace {

std::string Environ(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\0';
  return text;
}

TEST(ReadProgramEnvironment, IsThatOfOneNodeInOneAttempt) {
  const std::vector<std::string> lines = {"STOKER_JOB_ID=k3f7", "STOKER_ATTEMPT=2",
                                          "STOKER_NODE_RANK=0", "LR=two\nlines"};
  const auto found = ReadProgramEnvironment(Environ(lines), "k3f7", 2, 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->all, lines);
  EXPECT_FALSE(found->setup);
  EXPECT_FALSE(ReadProgramEnvironment(Environ(lines), "k3f", 2, 0));
  EXPECT_FALSE(ReadProgramEnvironment(Environ(lines), "k3f7", 1, 0));
  EXPECT_FALSE(ReadProgramEnvironment(Environ(lines), "k3f7", 2, 1));
  EXPECT_FALSE(ReadProgramEnvironment("", "k3f7", 2, 0));
  auto setup = lines;
  setup.emplace_back("SKYPILOT_SETUP_NODE_RANK=0");
  EXPECT_TRUE(ReadProgramEnvironment(Environ(setup), "k3f7", 2, 0)->setup);
}

}  // namespace
}  // namespace stoker::client
