// SPDX-License-Identifier: Apache-2.0
#include "node/env/make_env.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

TEST(MakeEnv, ByWhatPythonHas) {
  const std::string it = "/usr/bin/python3 3.11.2 (main)\n";
  EXPECT_EQ(ChooseEnvWay(it, true, true), EnvWay::kUv);
  // A Python without pip unpacks its own; nothing is fetched for it.
  EXPECT_EQ(ChooseEnvWay(it, true, false), EnvWay::kVenv);
  EXPECT_EQ(ChooseEnvWay(it, false, true), EnvWay::kSystem);
  EXPECT_EQ(ChooseEnvWay(it, false, false), EnvWay::kVenv);
  EXPECT_EQ(ChooseEnvWay(it + "lacks ensurepip and pip\n", true, false), EnvWay::kUvSeed);
  // Debian without python3-venv, and the same with python3-pip.
  EXPECT_EQ(ChooseEnvWay(it + "lacks ensurepip and pip\n", false, false), EnvWay::kWheel);
  EXPECT_EQ(ChooseEnvWay(it + "lacks ensurepip\n", false, true), EnvWay::kSystem);
  // python3-minimal.
  EXPECT_EQ(ChooseEnvWay(it + "lacks venv\nlacks ensurepip\n", false, false), EnvWay::kNothing);
  EXPECT_EQ(ChooseEnvWay(it + "lacks venv\nlacks ensurepip\n", true, false), EnvWay::kUvSeed);
}

TEST(MakeEnv, APythonThatUvIsNotAskedFor) {
  EXPECT_EQ(OnlyPipOf("/usr/bin/python3 3.6.8 (default)\nlacks venv\n"),
            "python3 here is 3.6.8, and uv is asked from 3.8 on");
  EXPECT_EQ(OnlyPipOf("/usr/bin/python3 3.7.17\n"),
            "python3 here is 3.7.17, and uv is asked from 3.8 on");
  EXPECT_EQ(OnlyPipOf("/usr/bin/python3 3.8.0 (default)\n"), "");
  EXPECT_EQ(OnlyPipOf("/usr/bin/python3 3.13.1 (main)\n"), "");
}

TEST(MakeEnv, AFileOfCommentsNeedsNoPip) {
  EXPECT_FALSE(AsksForPackages(""));
  EXPECT_FALSE(AsksForPackages("# torch\n\n  # numpy\r\n"));
  EXPECT_FALSE(AsksForPackages("--index-url https://host/a\n--extra-index-url https://host/b\n"));
  EXPECT_TRUE(AsksForPackages("# torch\nnumpy"));
  EXPECT_TRUE(AsksForPackages("-r other.txt\n"));
}

}  // namespace
}  // namespace stoker::node
