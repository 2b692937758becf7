// SPDX-License-Identifier: Apache-2.0
#include "node/env/old_envs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/env/python_env.h"
#include "sys/child_process.h"
#include "sys/file.h"
#include "sys/file_lock.h"
#include "sys/task/process_table.h"

namespace {

// Of each syncfs(2): did the folder have the marker of a whole environment at that moment?
std::vector<bool> settled;

}  // namespace

// Instead of the C library's: nothing else tells what a power cut would have left.
extern "C" int syncfs(int fd) noexcept {
  settled.push_back(::faccessat(fd, &stoker::node::kPythonEnvMarker[1], F_OK, 0) == 0);
  return static_cast<int>(::syscall(SYS_syncfs, fd));
}

namespace stoker::node {
namespace {

constexpr int64_t kNow = 1'800'000'000;
constexpr Duration kAge = Duration::Hours(24 * 30);

class OldEnvsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = sys::TempDir::Make("envs");
    ASSERT_TRUE(made.ok());
    temp_ = std::make_unique<sys::TempDir>(std::move(*made));
  }
  std::string Env(const std::string& name, int days, bool whole = true) {
    const std::string env = temp_->path() + "/" + name;
    const timespec times[2] = {{0, UTIME_OMIT}, {kNow - days * 86'400, 0}};
    EXPECT_TRUE(sys::MakeDirs(env + "/lib/deep").ok());
    const std::string marker = env + kPythonEnvMarker;
    if (whole) {
      EXPECT_TRUE(sys::WriteFileAtomic(marker, "", 0600, false).ok());
    }
    EXPECT_EQ(utimensat(AT_FDCWD, (whole ? marker : env).c_str(), times, 0), 0);
    return env;
  }
  int64_t Clear(bool dry_run = false) {
    return ClearOldPythonEnvs(temp_->path(), WallTime{kNow * 1000}, kAge, dry_run);
  }

  std::unique_ptr<sys::TempDir> temp_;
};

TEST_F(OldEnvsTest, IsOnTheDiskBeforeItCounts) {
  const std::string env = Env("made", 0, false);
  settled.clear();
  ASSERT_TRUE(MarkPythonEnvWhole(env).ok());
  EXPECT_EQ(settled, std::vector<bool>{false});
  EXPECT_TRUE(sys::FileExists(env + kPythonEnvMarker));
  EXPECT_FALSE(MarkPythonEnvWhole(env + "-gone").ok());
}

TEST_F(OldEnvsTest, OnlyWhatNobodyHasUsedForLong) {
  const std::string old = Env("old", 31);
  const std::string half = Env("half-built", 31, false);
  const std::string young = Env("young", 29);
  EXPECT_EQ(Clear(true), 2);
  EXPECT_TRUE(sys::DirExists(old)) << "a dry run removes nothing";
  EXPECT_EQ(Clear(), 2);
  EXPECT_FALSE(sys::DirExists(old));
  EXPECT_FALSE(sys::DirExists(half));
  EXPECT_TRUE(sys::DirExists(young));
  EXPECT_EQ(Clear(), 0);
}

TEST_F(OldEnvsTest, WhatIsInUseStays) {
  const std::string locked = Env("own-1", 31);
  auto lock = sys::TryFileLock(locked + ".lock");
  ASSERT_TRUE(lock.ok());
  const std::string shared = Env("shared", 31);
  ChildCommand command;
  command.program = "/bin/sleep";
  command.argv = {"sleep", "60"};
  command.env = {"VIRTUAL_ENV=" + shared};
  command.cwd = "/";
  const auto pid = SpawnChild(command);
  ASSERT_TRUE(pid.ok()) << pid.status().ToString();
  // It has its environment once it has become sleep(1).
  for (int i = 0; i < 500 && MarkedProcesses("VIRTUAL_ENV", shared).empty(); ++i) usleep(10'000);
  EXPECT_EQ(Clear(), 0);
  EXPECT_TRUE(sys::DirExists(locked) && sys::DirExists(shared));
  kill(*pid, SIGKILL);
  waitpid(*pid, nullptr, 0);
  lock->Reset();
  EXPECT_EQ(Clear(), 2);
}

}  // namespace
}  // namespace stoker::node
