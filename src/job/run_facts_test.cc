// SPDX-License-Identifier: Apache-2.0
#include "job/run_facts.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

RunFacts AllOfThem() {
  RunFacts facts;
  facts.attempt = 2;
  facts.rank = 1;
  facts.image = "localhost/a:1";
  facts.image_id = "c0ffee";
  facts.stoker = "1.0";
  facts.kernel = "6.1";
  facts.os = "Debian";
  facts.architecture = "x86_64";
  facts.cpu = "a CPU";
  facts.cpus = 8;
  facts.nvidia_driver = "550.54";
  facts.cuda = "12.4";
  facts.python = "/v/bin/python";
  facts.python_version = "3.11.2";
  facts.python_assumed = true;
  facts.python_trouble = "none";
  facts.environment = "/v";
  facts.environment_key = "abc";
  facts.packages = "d1";
  facts.package_count = 3;
  facts.variables = {{"A", "1", "job", false}, {"B", std::nullopt, "shell", true}};
  facts.variables_left_out = 4;
  facts.extra = R"({"layers":{"digest":"sha256:1"}})";
  return facts;
}

TEST(RunFacts, AreReadAsTheyWereWritten) {
  const auto read = DecodeRunFacts("k", EncodeRunFacts(AllOfThem()));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, AllOfThem());
  EXPECT_NE(EncodeRunFacts(*read).find("sha256:1"), std::string::npos);
}

TEST(RunFacts, RefuseWhatNobodyWrote) {
  EXPECT_EQ(DecodeRunFacts("k", "{}").code(), Code::kCorrupt);
  EXPECT_EQ(DecodeRunFacts("k", R"({"format":2,"attempt":1,"rank":0})").code(), Code::kTooNew);
  EXPECT_EQ(DecodeRunFacts("k", R"({"format":1,"attempt":1,"rank":0,"packages":"../../x"})").code(),
            Code::kCorrupt);
}

TEST(RunFacts, PackagesAreNamedByTheirContent) {
  const std::vector<Package> some = {{"numpy", "1.26.4", ""}, {"mine", "0.1", "editable"}};
  EXPECT_EQ(EncodePackages(some), EncodePackages(some));
  const auto read = DecodePackages("k", EncodePackages(some));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, some);
}

}  // namespace
}  // namespace stoker
