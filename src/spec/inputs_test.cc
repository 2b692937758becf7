// SPDX-License-Identifier: Apache-2.0
// What `inputs` of a job file mean. What is refused: bad_input_test.cc.
#include <gtest/gtest.h>

#include "spec/parse.h"
#include "spec/print.h"

namespace stoker {
namespace {

ParseOptions FixedOptions() {
  ParseOptions options;
  options.base_dir = "/work/dir";
  options.home = "/home/ada";
  return options;
}

std::vector<InputSpec> Inputs(const std::string& text,
                              const ParseOptions& options = FixedOptions()) {
  const Result<JobSpec> spec = ParseJobSpec(text + "\nrun: x", options);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return spec.ok() ? spec->inputs : std::vector<InputSpec>{};
}

TEST(Inputs, EveryForm) {
  const auto inputs = Inputs(R"(inputs:
  training: {source: s3://my-bucket/cifar, mode: file}
  2nd: {mode: file, source: gs://my-bucket}
  labels: /data//labels/
  near: ./data
  up: ../data
  home: ~/data
  url: file:///data/x
)");
  const std::vector<InputSpec> expected = {{"training", "s3://my-bucket/cifar"},
                                           {"2nd", "gs://my-bucket"},
                                           {"labels", "/data/labels"},
                                           {"near", "/work/dir/data"},
                                           {"up", "/work/dir/../data"},
                                           {"home", "/home/ada/data"},
                                           {"url", "/data/x"}};
  EXPECT_EQ(inputs, expected);
  EXPECT_TRUE(Inputs("inputs: {}").empty());
}

TEST(Inputs, WhatIsNotThereIsRefusedWithItsPlace) {
  ParseOptions options = FixedOptions();
  std::vector<std::string> asked;
  options.exists = [&](const std::string& path) {
    asked.push_back(path);
    return path == "/there";
  };
  EXPECT_EQ(Inputs("inputs: {a: /there, b: s3://bucket/x}", options).size(), 2u);
  EXPECT_EQ(asked, std::vector<std::string>{"/there"}) << "a bucket is not asked for here";
  const auto refused = ParseJobSpec("run: x\ninputs:\n  a: data\n", options);
  EXPECT_EQ(refused.status().message(),
            "job.yaml:3:6: 'inputs.a' 'data' is not there. It was looked for at /work/dir/data");
}

TEST(Inputs, FlagsAddAndReplace) {
  ParseOptions options = FixedOptions();
  options.overrides.inputs = {"b=data", "a=gs://other/y"};
  const auto inputs = Inputs("inputs: {a: s3://bucket/x}", options);
  const std::vector<InputSpec> expected = {{"a", "gs://other/y"}, {"b", "/work/dir/data"}};
  EXPECT_EQ(inputs, expected);
  const auto message = [](const std::string& flag) {
    ParseOptions wrong = FixedOptions();
    wrong.overrides.inputs = {flag};
    const auto spec = ParseJobSpec("inputs: {a-b: /x}\nrun: x", wrong);
    EXPECT_EQ(spec.code(), Code::kUsage) << flag;
    return spec.ok() ? "" : spec.status().message();
  };
  EXPECT_EQ(message("a").find("--input: 'a' gives no source. Write NAME=SOURCE"), 0u);
  EXPECT_EQ(message("=/x").find("--input: '' is not a name for an input"), 0u);
  EXPECT_EQ(message("a=").find("--input: 'inputs.a' is empty"), 0u);
  EXPECT_EQ(message("A_B=/y").find("--input: the inputs 'a-b' and 'A_B' have one variable"), 0u);
}

TEST(Inputs, AreKeptInTheRecord) {
  JobSpec spec;
  spec.name = "digits";
  spec.run = "x";
  const std::string before = PrintJobSpec(spec);
  EXPECT_EQ(before.find("inputs"), std::string::npos) << "as records were before there were inputs";
  EXPECT_EQ(ParseStoredSpec(before).value(), spec);
  spec.inputs = {{"training", "s3://my-bucket/cifar"}, {"val-1", "/data/val"}};
  const std::string text = PrintJobSpec(spec);
  EXPECT_NE(text.find("inputs:\n  \"training\": {source: \"s3://my-bucket/cifar\", mode: file}\n"
                      "  \"val-1\": {source: \"/data/val\", mode: file}\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(ParseStoredSpec(text).value(), spec);
}

}  // namespace
}  // namespace stoker
