// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/set_aside.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.h"

namespace stoker::node {
namespace {

class SetAsideTest : public testing::Test {
 protected:
  void Write(const std::string& path) {
    const std::string to = folder_ + "/" + path;
    ASSERT_TRUE(sys::MakeDirs(to.substr(0, to.rfind('/'))).ok());
    ASSERT_TRUE(sys::WriteFileAtomic(to, path, 0600, false).ok());
  }
  Result<SetAside> Move(const std::set<std::string>& ours) {
    return MoveOthersAside(folder_, ours, {root_.path() + "/state/aside", folder_ + ".aside"},
                           "abcd-1-0");
  }
  std::string Aside(const std::string& path, const std::string& again = "") {
    return sys::ReadFile(root_.path() + "/state/aside/abcd-1-0" + again + "/" + path)
        .value_or("(none)");
  }
  bool IsThere(const std::string& path) { return sys::FileExists(folder_ + "/" + path); }

  sys::TempDir root_ = *sys::TempDir::Make("aside");
  const std::string folder_ = root_.path() + "/checkpoints";
};

TEST_F(SetAsideTest, OnlyWhatIsNotOurs) {
  for (const char* path : {"s.pt", "step-1/w", "step-1/torn", "thesis/a", "thesis/b/c"}) {
    Write(path);
  }
  ASSERT_EQ(symlink("s.pt", (folder_ + "/theirs").c_str()), 0);
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  const auto moved = Move({"s.pt", "step-1/w", "step-2/w"});
  ASSERT_TRUE(moved.ok()) << moved.status().ToString();
  EXPECT_EQ(moved->entries, 4);
  EXPECT_EQ(moved->to, std::vector<std::string>{root_.path() + "/state/aside/abcd-1-0"});
  EXPECT_TRUE(IsThere("s.pt"));
  EXPECT_TRUE(IsThere("step-1/w"));
  for (const char* path : {"step-1/torn", "thesis", "theirs", "pipe"}) EXPECT_FALSE(IsThere(path));
  EXPECT_EQ(Aside("step-1/torn"), "step-1/torn");
  EXPECT_EQ(Aside("thesis/b/c"), "thesis/b/c");
  EXPECT_EQ(Aside("theirs"), "(none)") << "it leads to what is not there";
}

TEST_F(SetAsideTest, NothingThatWasMovedBeforeIsReplaced) {
  Write("a");
  ASSERT_TRUE(Move({}).ok());
  ASSERT_TRUE(sys::WriteFileAtomic(folder_ + "/a", "another", 0600, false).ok());
  ASSERT_TRUE(Move({}).ok());
  EXPECT_EQ(Aside("a"), "a");
  EXPECT_EQ(Aside("a", "-2"), "another");
  const auto nothing = Move({});
  ASSERT_TRUE(nothing.ok());
  EXPECT_TRUE(nothing->to.empty());
}

TEST_F(SetAsideTest, WhereTheFirstPlaceIsNotToBeHadTheNextIsTaken) {
  Write("a");
  ASSERT_TRUE(sys::WriteFileAtomic(root_.path() + "/state", "a file", 0600, false).ok());
  const auto moved = Move({});
  ASSERT_TRUE(moved.ok()) << moved.status().ToString();
  EXPECT_EQ(moved->to, std::vector<std::string>{folder_ + ".aside/abcd-1-0"});
}

// Two file systems, where the machine has them.
TEST_F(SetAsideTest, AcrossFileSystemsItIsCopied) {
  struct stat here;
  struct stat there;
  if (stat(root_.path().c_str(), &here) != 0 || stat("/dev/shm", &there) != 0 ||
      here.st_dev == there.st_dev || access("/dev/shm", W_OK) != 0) {
    GTEST_SKIP() << "there is no second file system to write to";
  }
  char name[] = "/dev/shm/stoker-aside-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  Write("deep/a");
  const auto moved = MoveOthersAside(folder_, {}, {name}, "abcd-1-0");
  EXPECT_TRUE(moved.ok()) << moved.status().ToString();
  EXPECT_EQ(sys::ReadFile(std::string(name) + "/abcd-1-0/deep/a").value_or("(none)"), "deep/a");
  EXPECT_FALSE(IsThere("deep"));
  EXPECT_TRUE(sys::RemoveTree(name).ok());
}

TEST(WhyNotForCheckpoints, ASystemsAndAHomesFoldersAreNoJobs) {
  const auto why = [](const std::string& folder) {
    return WhyNotForCheckpoints(folder, "/home/me", "/home/me/.local/share/stoker");
  };
  for (const char* folder : {"/", "/etc", "/etc/x", "/usr/lib/x", "/tmp", "/home", "/home/me",
                             "/home/me/.local", "/home/me/.local/share/stoker/ledger"}) {
    EXPECT_NE(why(folder), "") << folder;
  }
  for (const char* folder : {"/home/me/ck", "/data", "/mnt/ck", "/tmp/ck", "/dev/shm/ck",
                             "/home/me/.local/share/stoker-ck", "/etcetera"}) {
    EXPECT_EQ(why(folder), "") << folder;
  }
}

}  // namespace
}  // namespace stoker::node
