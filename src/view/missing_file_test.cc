// SPDX-License-Identifier: Apache-2.0
#include "view/missing_file.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

std::optional<MissingFile> Find(const std::string& said, const std::vector<LeftOut>& left) {
  Job job;
  job.state = JobState::kFailed;
  job.left_behind = left;
  Attempt attempt;
  attempt.number = 2;
  job.attempts = {attempt};
  ReportSeen seen;
  seen.report.attempt = 2;
  seen.report.stderr_tail = said;
  return FindMissingFile(job, {seen});
}

std::string Text(const std::string& said, const std::vector<LeftOut>& left) {
  const auto found = Find(said, left);
  return found ? MissingFileText(*found) : "";
}

const std::vector<LeftOut> kLeft = {{"data/", kByGit},       {"raw/a/x y.csv", kByGit},
                                    {"build/train", kByGit}, {"local.py", kByGit},
                                    {"conf/mine/", kByGit},  {"big.npy", kByIgnoreFile},
                                    {".env", kByRule},       {".venv/", kByEnvironment}};

TEST(MissingFile, AsItIsSaid) {
  constexpr char kData[] =
      "data/train.bin was left behind: git ignores it; --include data takes it along";
  for (const char* said :
       {"Traceback\nFileNotFoundError: [Errno 2] No such file or directory: 'data/train.bin'\n",
        "FileNotFoundError: [Errno 2] No such file or directory: './data/train.bin'",
        "FileNotFoundError: [Errno 2] No such file or directory: "
        "'/h/.local/share/stoker/instances/0a/work/data/train.bin'",
        "FileNotFoundError: [Errno 2] No such file or directory: "
        "'/h/.local/share/stoker/work/abcd1234-0/data/train.bin'",
        "FileNotFoundError: [Errno 2] No such file or directory: '../data/train.bin'",
        "OSError: data/train.bin not found.", "cat: data/train.bin: No such file or directory",
        "./t.sh: line 3: data/train.bin: No such file or directory",
        "wc: cannot open 'data/train.bin' for reading: No such file or directory",
        "ls: cannot access 'data/train.bin': No such file or directory",
        "make: *** No rule to make target 'data/train.bin', needed by 'all'.  Stop.",
        "cannot open file 'data/train.bin': No such file or directory",
        "Error: ENOENT: no such file or directory, open 'data/train.bin'",
        "open data/train.bin: no such file or directory",
        "SystemError: opening file \"data/train.bin\": No such file or directory",
        "RuntimeError: Could not open data/train.bin"}) {
    EXPECT_EQ(Text(said, kLeft), kData) << said;
  }
  EXPECT_EQ(Text("No such file or directory: 'raw/a/x y.csv'", kLeft),
            "raw/a/x y.csv was left behind: git ignores it; --include raw/a takes it along");
  EXPECT_EQ(Find("bash: ./build/train: No such file or directory", kLeft)->include, "build");
  EXPECT_EQ(Find("No such file or directory: 'x y.csv'", kLeft)->path, "raw/a/x y.csv");
  EXPECT_EQ(Find("ModuleNotFoundError: No module named 'local'", kLeft)->include, "local.py");
  EXPECT_EQ(Find("ModuleNotFoundError: No module named 'conf.mine'", kLeft)->path, "conf/mine");
  EXPECT_EQ(Text("FileNotFoundError: big.npy does not exist", kLeft),
            "big.npy was left behind: .stokerignore names it; --include big.npy takes it along");
  EXPECT_NE(Text(".venv/bin/python: not found in PATH", kLeft).find("activate it"),
            std::string::npos);
  EXPECT_NE(Text("No such file or directory: '.env'", kLeft).find("never packed"),
            std::string::npos);
}

TEST(MissingFile, WhatIsNone) {
  for (const char* said :
       {"", "data/train.bin is fine", "No such file or directory: 'other/train.bin'",
        "No such file or directory: '/data/train.bin'", "No such file or directory: 'data2/x'",
        "No module named 'torch'", "bash: train: command not found",
        "No such file or directory: 'mydata/'"}) {
    EXPECT_FALSE(Find(said, kLeft).has_value()) << said;
  }
  EXPECT_FALSE(Find("No such file or directory: 'data/x'", {}).has_value());
}

TEST(MissingFile, WhyTheJobFailedCountsToo) {
  Job job;
  job.state = JobState::kFailed;
  job.left_behind = kLeft;
  job.attempts.emplace_back();
  job.result = Ending();
  job.result->why = "the program './build/train' was not found";
  EXPECT_EQ(FindMissingFile(job, {})->include, "build");
  job.state = JobState::kSucceeded;
  EXPECT_FALSE(FindMissingFile(job, {}).has_value());
}

}  // namespace
}  // namespace stoker
