// SPDX-License-Identifier: Apache-2.0
#include "client/unsaved_here.h"

#include <gtest/gtest.h>

#include "sys/file.h"

namespace stoker::client {
namespace {

TEST(UnsavedHere, NamesWhatTheRecordDoesNot) {
  const std::string state = ::testing::TempDir() + "/unsaved-here";
  for (const char* name : {"abcd-2-0", "abcd-1-0", "abcde-1-0", "other-1-0"}) {
    ASSERT_TRUE(sys::MakeDirs(state + "/unsaved/" + name).ok());
  }
  const auto found = UnsavedHere(state, "abcd");
  ASSERT_EQ(found,
            (std::vector<std::string>{state + "/unsaved/abcd-1-0", state + "/unsaved/abcd-2-0"}));

  Job job;
  job.attempts.resize(1);
  job.attempts[0].unkept_in = found[0];
  const std::string text = UnsavedText(job, found);
  EXPECT_EQ(text.find(found[0]), std::string::npos) << text;
  EXPECT_NE(text.find("lie in " + found[1] + ";"), std::string::npos) << text;
  EXPECT_EQ(UnsavedText(job, {found[0]}), "");
}

TEST(UnsavedHere, NothingIsThere) {
  EXPECT_TRUE(UnsavedHere(::testing::TempDir() + "/no-such-state", "abcd").empty());
}

}  // namespace
}  // namespace stoker::client
