// SPDX-License-Identifier: Apache-2.0
// Channels out of a folder: what is copied, what stays, who is to blame. Out of a bucket:
// test/e2e/inputs.py.
#include "node/attempt/channels.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>

#include "sys/file.h"
#include "sys/real_clock.h"

namespace stoker::node {
namespace {

class Channels : public ::testing::Test {
 protected:
  std::string Path(const std::string& path) { return temp_.path() + "/" + path; }
  void Write(const std::string& path, const std::string& text) {
    const std::string whole = Path(path);
    ASSERT_TRUE(sys::MakeDirs(whole.substr(0, whole.rfind('/'))).ok());
    ASSERT_TRUE(sys::WriteFileAtomic(whole, text, 0644, false).ok());
  }
  std::string Read(const std::string& path) { return sys::ReadFile(Path(path)).value_or("?"); }
  // The lines that it said.
  std::vector<std::string> Bring(const std::string& source, const Status& expected = {}) {
    std::vector<std::string> lines;
    std::mutex mutex;
    const ChannelsConfig config{Path("inputs"), Path("known"), clock_,
                                [this] { return stop_ >= 0 && asked_++ >= stop_; },
                                [&](const std::string& line) {
                                  const std::lock_guard lock(mutex);
                                  lines.push_back(line);
                                }};
    status_ = BringChannels({{"training", source}}, config);
    EXPECT_EQ(status_.code(), expected.code()) << status_.ToString();
    return lines;
  }
  // All that the channel has.
  std::vector<std::string> Files() {
    std::vector<std::string> names;
    const std::string root = Path("inputs/training");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (!entry.is_directory()) names.push_back(entry.path().string().substr(root.size() + 1));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  using Names = std::vector<std::string>;
  sys::TempDir temp_ = sys::TempDir::Make("channels").value();
  RealClock clock_;
  Status status_;
  int stop_ = -1;  // after so many questions
  std::atomic<int> asked_{0};
};

TEST_F(Channels, AreCopiedOnce) {
  Write("data/a", "one");
  Write("data/deep/b", std::string(40 << 20, 'b'));  // in parts
  const Names first = Bring(Path("data"));
  ASSERT_GE(first.size(), 2u);
  EXPECT_EQ(first[0].find("stoker: input training: copying 2 files, "), 0u) << first[0];
  EXPECT_EQ(first.back().find("stoker: input training: 2 files, "), 0u) << first.back();
  EXPECT_EQ(Files(), (Names{"a", "deep/b"}));
  EXPECT_EQ(Read("inputs/training/a"), "one");
  EXPECT_EQ(Read("inputs/training/deep/b"), std::string(40 << 20, 'b'));
  const Names again = Bring(Path("data"));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_NE(again[0].find("were there already"), std::string::npos) << again[0];
}

TEST_F(Channels, BecomeWhatTheSourceIsAgain) {
  for (const char* name : {"kept", "written", "deleted", "link/x", "changes", "goes/y"}) {
    Write(std::string("data/") + name, name);
  }
  (void)Bring(Path("data"));
  // What a program may do to its copy, and somebody to the source.
  Write("inputs/training/written", "WRITTEN BY IT");
  Write("inputs/training/more/z", "z");
  ASSERT_EQ(unlink(Path("inputs/training/deleted").c_str()), 0);
  Write("data/changes", "is longer now");
  ASSERT_TRUE(sys::RemoveTree(Path("data/goes")).ok());
  Write("data/goes", "a file where a folder was");
  const Names said = Bring(Path("data"));
  EXPECT_EQ(Files(), (Names{"changes", "deleted", "goes", "kept", "link/x", "written"}));
  EXPECT_EQ(Read("inputs/training/written"), "written");
  EXPECT_EQ(Read("inputs/training/changes"), "is longer now");
  EXPECT_EQ(Read("inputs/training/goes"), "a file where a folder was");
  EXPECT_NE(said.back().find("4 files, "), std::string::npos) << said.back();
  EXPECT_NE(said.back().find("; 2 files, "), std::string::npos) << said.back();
  EXPECT_NE(said.back().find("; removed 2"), std::string::npos) << said.back();
  EXPECT_EQ(Read("data/written"), "written") << "the source is only read";
}

// Nothing is written through what the program has put in the place of a folder.
TEST_F(Channels, AreMadeAnewWhereAProgramLeftLinks) {
  Write("data/deep/a", "a");
  Write("outside/a", "precious");
  (void)Bring(Path("data"));
  ASSERT_TRUE(sys::RemoveTree(Path("inputs/training/deep")).ok());
  ASSERT_EQ(symlink(Path("outside").c_str(), Path("inputs/training/deep").c_str()), 0);
  (void)Bring(Path("data"));
  EXPECT_EQ(Read("outside/a"), "precious");
  struct stat info {};
  ASSERT_EQ(lstat(Path("inputs/training/deep").c_str(), &info), 0);
  EXPECT_TRUE(S_ISDIR(info.st_mode));
  EXPECT_EQ(Read("inputs/training/deep/a"), "a");
  ASSERT_TRUE(sys::RemoveTree(Path("inputs/training")).ok());
  ASSERT_EQ(symlink(Path("outside").c_str(), Path("inputs/training").c_str()), 0);
  (void)Bring(Path("data"));
  EXPECT_EQ(Read("outside/a"), "precious");
  EXPECT_EQ(Files(), (Names{"deep/a"}));
}

TEST_F(Channels, AreMadeAnewWhereAProgramMadeAFolder) {
  Write("data/a", "a");
  (void)Bring(Path("data"));
  ASSERT_EQ(unlink(Path("inputs/training/a").c_str()), 0);
  ASSERT_TRUE(sys::MakeDirs(Path("inputs/training/a")).ok());
  (void)Bring(Path("data"));
  EXPECT_EQ(Read("inputs/training/a"), "a");
}

TEST_F(Channels, OneFileIsAFolderWithIt) {
  Write("data/labels.txt", "cat");
  Write("data/other", "x");
  (void)Bring(Path("data/labels.txt"));
  EXPECT_EQ(Files(), (Names{"labels.txt"}));
  EXPECT_EQ(Read("inputs/training/labels.txt"), "cat");
}

TEST_F(Channels, WhatIsLeftOutIsNamed) {
  Write("data/a", "a");
  Write("outside", "x");
  ASSERT_EQ(symlink(Path("outside").c_str(), Path("data/away").c_str()), 0);
  const Names said = Bring(Path("data"));
  EXPECT_EQ(said[0], "stoker: input training: left out away: a link that leads out of the folder");
  EXPECT_EQ(Files(), (Names{"a"}));
}

TEST_F(Channels, WrongSourcesAreNotTheMachinesFault) {
  const auto check = [&](const std::string& source, Code code, const std::string& word) {
    (void)Bring(source, Status(code, ""));
    EXPECT_TRUE(BlamesInputs(status_)) << status_.ToString();
    EXPECT_EQ(status_.message().find("input training from " + source + ": "), 0u)
        << status_.ToString();
    EXPECT_NE(status_.message().find(word), std::string::npos) << status_.ToString();
  };
  check(Path("nowhere"), Code::kNotFound, "no such file or folder");
  ASSERT_TRUE(sys::MakeDirs(Path("empty/within")).ok());
  check(Path("empty"), Code::kNotFound, "there is no file");
  ASSERT_EQ(symlink("/etc/passwd", Path("empty/link").c_str()), 0);
  check(Path("empty"), Code::kNotFound, "there is no file: link is a link that leads out");
  check(temp_.path(), Code::kInvalid, "holds stoker's own folder");
  EXPECT_FALSE(BlamesInputs(Status(Code::kUnavailable, "away")));
  EXPECT_FALSE(BlamesInputs(Status(Code::kNoSpace, "full")));
}

TEST_F(Channels, StopInTheMiddleAndGoOn) {
  for (int i = 0; i < 300; ++i) Write("data/f" + std::to_string(i), std::to_string(i));
  stop_ = 100;
  (void)Bring(Path("data"), Status(Code::kCancelled, ""));
  const size_t some = Files().size();
  EXPECT_LT(some, 300u);
  stop_ = -1;
  const Names said = Bring(Path("data"));
  EXPECT_EQ(Files().size(), 300u);
  EXPECT_NE(said.back().find(" " + std::to_string(300 - some) + " files, "), std::string::npos)
      << said.back();
}

TEST_F(Channels, AProgramCanBeRun) {
  Write("data/tool", "#!/bin/sh");
  Write("data/text", "no program");
  ASSERT_EQ(chmod(Path("data/tool").c_str(), 0755), 0);
  (void)Bring(Path("data"));
  EXPECT_EQ(access(Path("inputs/training/tool").c_str(), X_OK), 0);
  struct stat info {};
  ASSERT_EQ(stat(Path("inputs/training/text").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0111, 0u);
  ASSERT_EQ(chmod(Path("data/text").c_str(), 0755), 0);
  (void)Bring(Path("data"));
  EXPECT_EQ(access(Path("inputs/training/text").c_str(), X_OK), 0) << "by itself, too";
}

}  // namespace
}  // namespace stoker::node
