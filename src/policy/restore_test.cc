// SPDX-License-Identifier: Apache-2.0
#include "policy/restore.h"

#include <gtest/gtest.h>

#include "job/checkpoint_name.h"

namespace stoker {
namespace {

std::string Choose(const Restorable& generations, const std::string& from = "",
                   const std::vector<std::string>& suspects = {}) {
  Job job;
  job.id = "me";
  job.from = from;
  job.suspects = suspects;
  return ChooseRestore(job, generations);
}

TEST(Restore, NamesOfWhatWasLeft) {
  EXPECT_EQ(AsLeftName(3), "as-left-3");
  EXPECT_EQ(AttemptOfAsLeft("as-left-3"), 3);
  EXPECT_EQ(AttemptOfAsLeft("job-1/as-left-12"), 12);
  for (const char* other : {"", "as-left", "as-left-", "as-left-0", "as-left-03", "as-left-1x",
                            "1-3", "as-left-1/1-2", "x-as-left-1"}) {
    EXPECT_FALSE(IsAsLeft(other)) << other;
  }
}

TEST(Restore, TheNewestOfTheJobElseOfItsNearestAncestor) {
  EXPECT_EQ(Choose({}), "");
  EXPECT_EQ(Choose({{"", {"2-1", "1-4"}, {}, {}, ""}}), "2-1");
  EXPECT_EQ(Choose({{"", {"2-1", "1-4"}, {}, {}, ""}}, "", {"2-1"}), "1-4");
  const Restorable chain = {{"", {}, {}, {}, ""},
                            {"b", {}, {}, {}, ""},
                            {"a", {"1-2", "1-1"}, {}, {}, ""},
                            {"z", {"9-9"}, {}, {}, ""}};
  EXPECT_EQ(Choose(chain), "a/1-2");
  EXPECT_EQ(Choose(chain, "", {"a/1-2"}), "a/1-1");
  EXPECT_EQ(Choose(chain, "", {"a/1-2", "a/1-1"}), "z/9-9");
  EXPECT_EQ(Choose({{"", {"1-1"}, {}, {}, ""}, {"a", {"1-2"}, {}, {}, ""}}, "", {"1-1"}), "a/1-2");
}

TEST(Restore, WhatAnAncestorFoundSuspectComesLastAndIsNotLost) {
  const Restorable chain = {
      {"", {}, {}, {}, ""}, {"b", {}, {}, {"a/1-3"}, ""}, {"a", {"1-3", "1-2"}, {}, {}, ""}};
  EXPECT_EQ(Choose(chain), "a/1-2");
  const Restorable single = {
      {"", {}, {}, {}, ""}, {"b", {}, {}, {"a/1-3"}, ""}, {"a", {"1-3"}, {}, {}, ""}};
  EXPECT_EQ(Choose(single), "a/1-3");
  EXPECT_EQ(Choose(single, "", {"a/1-3"}), "");
  // Other code: judged anew.
  EXPECT_EQ(Choose(chain, "b"), "a/1-3");
}

TEST(Restore, WhatWasAskedForComesFirstThenWhatIsOlderThenTheRest) {
  const Restorable chain = {{"", {}, {}, {}, ""},
                            {"a", {"1-3", "1-2", "1-1"}, {"as-left-1"}, {"1-2"}, ""}};
  EXPECT_EQ(Choose(chain, "a/1-2"), "a/1-2");
  EXPECT_EQ(Choose(chain, "a/1-2", {"a/1-2"}), "a/1-1");
  EXPECT_EQ(Choose(chain, "a/1-2", {"a/1-2", "a/1-1"}), "a/1-3");
  // Cleared away meanwhile: its own name is what fails, and is said.
  EXPECT_EQ(Choose(chain, "a/1-0"), "a/1-0");
  EXPECT_EQ(Choose(chain, "a/1-0", {"a/1-0"}), "a/1-3");
  Restorable own = chain;
  own[0].whole = {"1-1"};
  EXPECT_EQ(Choose(own, "a/1-2"), "1-1");
  // Whoever retries it begins where it did.
  Restorable retried = chain;
  retried.insert(retried.begin(), Generation{});
  retried[1].job = "b";
  retried[1].from = "a/1-2";
  EXPECT_EQ(Choose(retried), "a/1-2");
}

TEST(Restore, AsLeftOnlyWhereNothingIsWholeOrWhenAsked) {
  EXPECT_EQ(Choose({{"", {}, {"as-left-2", "as-left-1"}, {}, ""}}), "as-left-2");
  EXPECT_EQ(Choose({{"", {}, {"as-left-2", "as-left-1"}, {}, ""}}, "", {"as-left-2"}), "as-left-1");
  EXPECT_EQ(Choose({{"", {"1-1"}, {"as-left-2"}, {}, ""}}), "1-1");
  // Not even where the whole one is no good.
  EXPECT_EQ(Choose({{"", {"1-1"}, {"as-left-2"}, {}, ""}}, "", {"1-1"}), "");
  EXPECT_EQ(Choose({{"", {"1-1"}, {}, {}, ""}, {"a", {}, {"as-left-1"}, {}, ""}}, "", {"1-1"}), "");
  EXPECT_EQ(Choose({{"", {}, {"as-left-1"}, {}, ""}, {"a", {"1-1"}, {}, {}, ""}}, "", {"a/1-1"}),
            "");
  // What was asked for is there all the same.
  EXPECT_EQ(Choose({{"", {"1-1"}, {}, {}, ""}, {"a", {}, {"as-left-2", "as-left-1"}, {}, ""}},
                   "a/as-left-1", {"1-1"}),
            "a/as-left-1");
  const Restorable above = {{"", {}, {"as-left-1"}, {}, ""}, {"a", {"1-1"}, {"as-left-1"}, {}, ""}};
  EXPECT_EQ(Choose(above), "a/1-1");
  EXPECT_EQ(Choose({{"", {}, {}, {}, ""}, {"a", {}, {"as-left-1"}, {}, ""}}), "a/as-left-1");
  EXPECT_EQ(Choose(above, "a/as-left-1"), "as-left-1") << "what it made of what it asked for";
  EXPECT_EQ(Choose(above, "a/as-left-1", {"as-left-1"}), "a/as-left-1");
  EXPECT_EQ(Choose(above, "a/as-left-1", {"as-left-1", "a/as-left-1"}), "a/1-1");
  EXPECT_EQ(Choose(above, "a/as-left-1", {"a/as-left-1"}), "a/1-1");
}

}  // namespace
}  // namespace stoker
