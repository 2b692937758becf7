// SPDX-License-Identifier: Apache-2.0
// On a tree of plain files. What the kernel makes of it: test/limits.
#include "sys/task/task_limits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "sys/file.h"
#include "sys/task/cgroup.h"

namespace stoker {
namespace {

constexpr char kScope[] = "/user.slice/run-7.scope";

class Limits : public testing::Test {
 protected:
  Limits() : dir_(sys::TempDir::Make("cgroups").value()) {
    Group("", "cpu memory pids", "memory pids", "");
    unlink((dir_.path() + "/cgroup.events").c_str());  // as the root of a machine
    Group("/user.slice", "memory pids", "", "");
    Group(kScope, "cpu memory pids", "", "");
  }

  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(sys::WriteFileAtomic(dir_.path() + path, text, 0644, false).ok());
  }
  void Group(const std::string& path, const std::string& controllers, const std::string& down,
             const std::string& processes) {
    ASSERT_TRUE(sys::MakeDirs(dir_.path() + path, 0755).ok());
    Write(path + "/cgroup.controllers", controllers + "\n");
    Write(path + "/cgroup.subtree_control", down);
    Write(path + "/cgroup.procs", processes);
    Write(path + "/cgroup.events", "populated 1\n");
  }
  CgroupTree Tree(std::optional<bool> delegated, bool root = false, const char* own = kScope) {
    return {dir_.path(), dir_.path() + own, root, delegated};
  }

  sys::TempDir dir_;
};

TEST_F(Limits, ADelegatedGroupIsDivided) {
  const auto place = FindLimitPlace(Tree(true));
  ASSERT_TRUE(place.ok()) << place.status().ToString();
  EXPECT_EQ(place->parent, dir_.path() + kScope);
  EXPECT_TRUE(place->memory && place->cpus && !place->move) << place->why_not_all;
}

TEST_F(Limits, WhatIsInItMovesOnlyWhereNothingIsHandedDownYet) {
  Group(kScope, "cpu memory pids", "", "12\n14\n");
  EXPECT_TRUE(FindLimitPlace(Tree(true))->move);
  Group(kScope, "cpu memory pids", "cpu memory", "");
  EXPECT_FALSE(FindLimitPlace(Tree(true))->move);
}

TEST_F(Limits, WhoWasMovedFindsTheSameGroup) {
  const std::string others = std::string(kScope) + "/stoker.others";
  Group(others, "", "", "12\n");
  const auto place = FindLimitPlace(Tree(true, false, others.c_str()));
  ASSERT_TRUE(place.ok()) << place.status().ToString();
  EXPECT_EQ(place->parent, dir_.path() + kScope);
}

TEST_F(Limits, WhatSystemdKeepsForItselfIsLeftAlone) {
  const auto place = FindLimitPlace(Tree(false));
  EXPECT_TRUE(place.status().Is(Code::kDenied));
  EXPECT_NE(place.status().ToString().find("Delegate=yes"), std::string::npos);
  // Older ones do not say; then a service is left alone, whose next start would fail.
  EXPECT_TRUE(FindLimitPlace(Tree(std::nullopt)).ok());
  Group("/user.slice/timer.service", "cpu memory", "", "");
  EXPECT_FALSE(FindLimitPlace(Tree(std::nullopt, false, "/user.slice/timer.service")).ok());
  EXPECT_TRUE(FindLimitPlace(Tree(true, false, "/user.slice/timer.service")).ok());
}

TEST_F(Limits, RootHasTheTree) {
  const auto place = FindLimitPlace(Tree(std::nullopt, true));
  ASSERT_TRUE(place.ok()) << place.status().ToString();
  EXPECT_EQ(place->parent, dir_.path());
  Write("/cgroup.procs", "1\n2\n");
  EXPECT_FALSE(FindLimitPlace(Tree(std::nullopt, true))->move) << "the root may hold processes";
  Write("/cgroup.events", "populated 1\n");  // the root of a container
  EXPECT_TRUE(FindLimitPlace(Tree(std::nullopt, true))->move);
  EXPECT_EQ(FindLimitPlace(Tree(true, true))->parent, dir_.path() + kScope);
}

TEST_F(Limits, WithoutControllersNothingIsHeldAndItSaysWhich) {
  Group(kScope, "memory pids", "", "");
  auto place = FindLimitPlace(Tree(true));
  ASSERT_TRUE(place.ok());
  EXPECT_TRUE(place->memory && !place->cpus);
  EXPECT_NE(place->why_not_all.find("CPUs"), std::string::npos);
  Group(kScope, "pids", "", "");
  EXPECT_TRUE(FindLimitPlace(Tree(true)).status().Is(Code::kNotFound));
}

TEST_F(Limits, AGroupOfOnesOwnIsNeeded) {
  EXPECT_TRUE(FindLimitPlace(Tree(true, false, "/gone.scope")).status().Is(Code::kNotFound));
}

// A plain file takes what a control file would; what makes a group of a folder is the kernel, so
// the group has no files of its own here, and is refused as a whole.
TEST_F(Limits, AGroupThatCannotHaveItsLimitsIsNone) {
  const auto place = FindLimitPlace(Tree(true));
  ASSERT_TRUE(place.ok());
  const auto made = MakeLimitedCgroup(*place, {1 << 20, 1000});
  EXPECT_FALSE(made.ok());
  const auto control = sys::ReadFile(place->parent + "/cgroup.subtree_control");
  EXPECT_EQ(control.value(), "+memory +cpu");
  for (const sys::DirEntry& entry : sys::ListDir(place->parent).value()) {
    EXPECT_FALSE(entry.is_dir) << entry.name << " is left";
  }
}

TEST(TaskLimiter, WhoAsksForNothingHearsNothing) {
  TaskLimiter limiter;
  EXPECT_EQ(limiter.MakeGroup(), "");
  EXPECT_EQ(limiter.TakeComplaint(), "");
}

TEST(TaskLimiter, WhatIsNotHeldIsSaidOnce) {
  TaskLimiter limiter;
  limiter.Ask({int64_t{2} << 30, 1000});
  limiter.GiveUp(Status(Code::kDenied, "not here"));
  EXPECT_EQ(limiter.MakeGroup(), "");
  const std::string said = limiter.TakeComplaint();
  EXPECT_TRUE(StartsWith(said, "memory (")) << said;
  EXPECT_TRUE(EndsWith(said, "and CPUs are counted here and not enforced: not here")) << said;
  limiter.GiveUp(Status(Code::kDenied, "still not"));
  EXPECT_EQ(limiter.TakeComplaint(), "");

  TaskLimiter memory;
  memory.Ask({int64_t{2} << 30, 0});
  memory.GiveUp(Status(Code::kDenied, "not here"));
  EXPECT_TRUE(EndsWith(memory.TakeComplaint(), " is counted here and not enforced: not here"));
}

TEST(TaskLimiter, OnlyItsOwnLimitIsNamed) {
  const auto dir = sys::TempDir::Make("group").value();
  TaskLimiter limiter;
  limiter.Ask({1 << 20, 0});
  const std::string events = dir.path() + "/memory.events";
  ASSERT_TRUE(sys::WriteFileAtomic(events, "max 0\noom 0\noom_kill 1\n", 0644, false).ok());
  limiter.OutOfMemory(dir.path());
  EXPECT_EQ(limiter.exceeded(), 0);
  ASSERT_TRUE(sys::WriteFileAtomic(events, "max 4\noom 1\noom_kill 1\n", 0644, false).ok());
  limiter.OutOfMemory(dir.path());
  EXPECT_EQ(limiter.exceeded(), 1 << 20);
}

}  // namespace
}  // namespace stoker
