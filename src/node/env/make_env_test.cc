// SPDX-License-Identifier: Apache-2.0
#include "node/env/make_env.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

TEST(MakeEnv, ByWhatPythonHas) {
  const std::string it = "/usr/bin/python3 3.11.2 (main)\n";
  EXPECT_EQ(ChooseEnvWay(it, true), EnvWay::kVenv);
  EXPECT_EQ(ChooseEnvWay(it + "lacks ensurepip and pip\n", true), EnvWay::kUv);
  // Debian without python3-venv, and the same with python3-pip.
  EXPECT_EQ(ChooseEnvWay(it + "lacks ensurepip and pip\n", false), EnvWay::kWheel);
  EXPECT_EQ(ChooseEnvWay(it + "lacks ensurepip\n", false), EnvWay::kSystem);
  // python3-minimal.
  EXPECT_EQ(ChooseEnvWay(it + "lacks venv\nlacks ensurepip\n", false), EnvWay::kNothing);
  EXPECT_EQ(ChooseEnvWay(it + "lacks venv\nlacks ensurepip\n", true), EnvWay::kUv);
}

TEST(MakeEnv, AFileOfCommentsNeedsNoPip) {
  EXPECT_FALSE(AsksForPackages(""));
  EXPECT_FALSE(AsksForPackages("# torch\n\n  # numpy\r\n"));
  EXPECT_TRUE(AsksForPackages("# torch\nnumpy"));
  EXPECT_TRUE(AsksForPackages("-r other.txt\n"));
}

}  // namespace
}  // namespace stoker::node
