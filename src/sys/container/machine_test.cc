// SPDX-License-Identifier: Apache-2.0
#include "sys/container/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "sys/file.h"

namespace stoker {
namespace {

TEST(Machine, WhatIsNotHereIsNamed) {
  const auto dir = sys::TempDir::Make("sources");
  ASSERT_TRUE(dir.ok());
  ContainerSpec spec;
  spec.volumes = {dir->path() + ":/data:ro"};
  spec.devices = {"/dev/null", "/dev/null:/dev/x:rw", "nvidia.com/gpu=all"};
  EXPECT_TRUE(CheckSources(spec).ok());
  spec.volumes.push_back(dir->path() + "/none:/none");
  const Status missing = CheckSources(spec);
  EXPECT_EQ(missing.code(), Code::kInvalid);
  EXPECT_NE(missing.message().find(dir->path() + "/none is not on this machine"),
            std::string::npos);
  spec.volumes.clear();
  spec.devices = {"/dev/no-such-device"};
  EXPECT_NE(CheckSources(spec).message().find("container.devices: /dev/no-such-device"),
            std::string::npos);
}

TEST(Machine, GroupsThatAProcessHasNotAreToldToAnOrdinaryUser) {
  ContainerPlan plan;
  plan.uid = 1000;
  plan.groups = {765432, 765433};
  EXPECT_EQ(TellLostGroups(plan, getpid()), "765432, 765433");
  EXPECT_EQ(TellLostGroups(plan, -1), "") << "not to be seen";
  plan.groups.clear();
  LearnOfMachine(&plan);
  EXPECT_EQ(TellLostGroups(plan, getpid()), "") << "its own it has";
  EXPECT_GT(plan.machine_memory, 0);
  plan.uid = 0;
  plan.groups = {765432};
  EXPECT_EQ(TellLostGroups(plan, getpid()), "") << "root reads without";
}

}  // namespace
}  // namespace stoker
