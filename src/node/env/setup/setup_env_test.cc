// SPDX-License-Identifier: Apache-2.0
#include "node/env/setup/setup_env.h"

#include <gtest/gtest.h>

#include "sys/file.h"

namespace stoker::node {
namespace {

TEST(SetupEnv, LinesReachTheProgram) {
  const auto folder = sys::TempDir::Make();
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/env";
  ASSERT_TRUE(MakeSetupFile(path).ok());
  EXPECT_TRUE(ReadSetupFile(path).variables.empty());
  ASSERT_TRUE(sys::WriteFileAtomic(path,
                                   "A=1\n# no\nexport B=two words \"q\" #x\nA=3\nC\n"
                                   "STOKER_JOB_ID=x\nnot a line\nEMPTY=\n")
                  .ok());
  const SetupLeft left = ReadSetupFile(path);
  const contract::Environment expected = {{"B", "two words \"q\" #x"}, {"A", "3"}, {"EMPTY", ""}};
  EXPECT_EQ(left.variables, expected);
  const std::vector<std::string> notes = {
      "$STOKER_ENV, line 7: is not NAME=VALUE: left out",
      "$STOKER_ENV, line 5: C has no value: left out",
      "$STOKER_ENV, line 6: STOKER_JOB_ID is set by stoker itself: left out"};
  EXPECT_EQ(left.notes, notes);
  EXPECT_TRUE(ReadSetupFile(path + "-gone").notes.empty());
}

TEST(SetupEnv, ShellFilesOfTheUser) {
  const auto home = sys::TempDir::Make();
  ASSERT_TRUE(home.ok());
  ASSERT_TRUE(sys::WriteFileAtomic(home->path() + "/.profile", "a").ok());
  const ShellFiles files(home->path());
  EXPECT_EQ(files.Changed(), "");
  ASSERT_TRUE(sys::WriteFileAtomic(home->path() + "/.bashrc", "export A=1\n").ok());
  EXPECT_EQ(files.Changed().find("setup changed ~/.bashrc, on this machine your own"), 0U);
}

}  // namespace
}  // namespace stoker::node
