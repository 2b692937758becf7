// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/unsaved.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.h"

namespace stoker::node {
namespace {

class UnsavedTest : public testing::Test {
 protected:
  void SetUp() override { Make(work_); }
  static void Make(const std::string& folder) { ASSERT_TRUE(sys::MakeDirs(folder).ok()); }
  void Write(const std::string& path, const std::string& text) {
    Make((work_ + "/" + path).substr(0, (work_ + "/" + path).rfind('/')));
    ASSERT_TRUE(sys::WriteFileAtomic(work_ + "/" + path, text, 0600, false).ok());
  }
  Unsaved Move(const std::vector<std::string>& paths) {
    return MoveUnsaved({work_, folder_, "abcd-1-0", spare_}, paths);
  }
  std::string Read(const std::string& path) {
    return sys::ReadFile(folder_ + "/abcd-1-0/" + path).value_or("(none)");
  }

  sys::TempDir root_ = *sys::TempDir::Make("unsaved");
  const std::string work_ = root_.path() + "/instance/work";
  const std::string folder_ = root_.path() + "/unsaved";
  const std::string spare_ = root_.path() + "/instance/spare";
};

TEST_F(UnsavedTest, FilesKeepTheirPathsAndAllElseStays) {
  Write("out/a/big", "12345");
  Write("out/small", "1");
  Write("checkpoints/step/c", "123");
  Write("train.py", "code");
  const Unsaved moved = Move({"out/a/big", "gone/away", "checkpoints"});
  EXPECT_TRUE(moved.status.ok()) << moved.status.ToString();
  EXPECT_EQ(moved.files, 2);
  EXPECT_EQ(moved.bytes, 8);
  EXPECT_EQ(moved.in, folder_ + "/abcd-1-0");
  EXPECT_EQ(Read("out/a/big"), "12345");
  EXPECT_EQ(Read("checkpoints/step/c"), "123");
  EXPECT_TRUE(sys::FileExists(work_ + "/out/small"));
  EXPECT_TRUE(sys::FileExists(work_ + "/train.py"));
  struct stat info {};
  ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(UnsavedTest, WhatLiesBehindALinkIsSomebodys) {
  Make(root_.path() + "/theirs");
  ASSERT_TRUE(sys::WriteFileAtomic(root_.path() + "/theirs/data", "d", 0600, false).ok());
  ASSERT_EQ(::symlink((root_.path() + "/theirs").c_str(), (work_ + "/out").c_str()), 0);
  const Unsaved moved = Move({"out/data"});
  EXPECT_EQ(moved.files, 0);
  EXPECT_EQ(moved.in, "");
  EXPECT_TRUE(sys::FileExists(root_.path() + "/theirs/data"));
  EXPECT_FALSE(sys::FileExists(folder_)) << "nothing is left behind for nothing";
}

TEST_F(UnsavedTest, AllOfItWhereNobodyKnowsWhatIsSaved) {
  Write("out/big", "12345");
  Write("train.py", "code");
  Make(spare_);
  const Unsaved moved = MoveWork({work_, folder_, "abcd-1-0", spare_});
  EXPECT_TRUE(moved.status.ok()) << moved.status.ToString();
  EXPECT_EQ(moved.files, 2);
  EXPECT_EQ(Read("out/big"), "12345");
  EXPECT_FALSE(sys::FileExists(work_));
}

TEST_F(UnsavedTest, ALinkIsMovedAsOne) {
  ASSERT_EQ(::symlink("nowhere", (work_ + "/latest").c_str()), 0);
  EXPECT_EQ(Move({"latest"}).files, 1);
  char target[16] = {};
  EXPECT_EQ(::readlink((folder_ + "/abcd-1-0/latest").c_str(), target, sizeof target), 7);
}

}  // namespace
}  // namespace stoker::node
