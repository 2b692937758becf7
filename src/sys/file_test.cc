// SPDX-License-Identifier: Apache-2.0
#include "sys/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <set>

#include "sys/file_times.h"
#include "sys/folder_cache.h"
#include "sys/folder_meter.h"
#include "sys/real_clock.h"

namespace stoker::sys {
namespace {

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<TempDir> made = TempDir::Make("stoker-file-test");
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    temp_.emplace(std::move(made).value());
  }
  std::string At(const std::string& name) const { return temp_->path() + "/" + name; }
  std::optional<TempDir> temp_;
};

TEST_F(FileTest, WritesAtomicallyAndReadsBack) {
  std::string data("a\0b\n", 4);
  ASSERT_TRUE(WriteFileAtomic(At("f"), data, 0640).ok());
  struct stat info;
  ASSERT_EQ(stat(At("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
  ASSERT_TRUE(WriteFileAtomic(At("f"), data + "more", 0600, false).ok());
  EXPECT_EQ(ReadFile(At("f")).value(), data + "more");
  std::string large(200'001, 'a');  // written in pieces
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i * 7 % 23);
  ASSERT_TRUE(WriteFileAtomic(At("f"), large, 0600, false).ok());
  EXPECT_EQ(ReadFile(At("f")).value(), large);
  EXPECT_EQ(ListDir(temp_->path())->size(), 1u) << "a temporary file was left";
}

TEST_F(FileTest, TimesFarAwayStayOnTheirSide) {
  EXPECT_EQ(NanosOf({12, 34}), 12'000'000'034);
  EXPECT_EQ(NanosOf({-1, 999'999'999}), -1);
  EXPECT_GT(NanosOf({15'032'385'535, 0}), NanosOf({4'000'000'000, 0}));  // what ext4 has at most
  EXPECT_GT(NanosOf({INT64_MAX, 999'999'999}), 0);
  EXPECT_LT(NanosOf({INT64_MIN, 0}), 0);
}

TEST_F(FileTest, WriteThatFailsLeavesTheOldFileAndNoOther) {
  ASSERT_TRUE(MakeDirs(At("d/e")).ok());
  EXPECT_FALSE(WriteFileAtomic(At("d"), "x").ok());
  EXPECT_TRUE(DirExists(At("d/e")));
  EXPECT_EQ(ListDir(temp_->path())->size(), 1u);
  EXPECT_EQ(WriteFileAtomic(At("none/f"), "x").code(), Code::kNotFound);
  Status full = Status::Ok();
  Result<ScopedFd> dev = Open("/dev/full", O_WRONLY);
  if (dev.ok()) full = WriteAll(dev->get(), "x", "/dev/full");
  EXPECT_EQ(full.code(), Code::kNoSpace);
}

TEST_F(FileTest, ReadBoundsAndErrors) {
  ASSERT_TRUE(WriteFileAtomic(At("f"), std::string(5000, 'x'), 0644, false).ok());
  EXPECT_EQ(ReadFile(At("f"), 4999).code(), Code::kInvalid);
  EXPECT_EQ(ReadFile(At("f"), 5000)->size(), 5000u);
  EXPECT_EQ(ReadFile(At("none")).code(), Code::kNotFound);
  EXPECT_EQ(ReadFile(temp_->path()).code(), Code::kInvalid);
  EXPECT_FALSE(ReadFile("/proc/self/status")->empty());
}

TEST_F(FileTest, MakeDirsIsIdempotentAndNamesTheObstacle) {
  EXPECT_TRUE(MakeDirs(At("a/b//c/")).ok());
  EXPECT_TRUE(MakeDirs(At("a/b/c")).ok());
  ASSERT_TRUE(WriteFileAtomic(At("file"), "", 0644, false).ok());
  Status status = MakeDirs(At("file/x"));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("file"), std::string::npos);
  EXPECT_FALSE(MakeDirs("").ok());
}

TEST_F(FileTest, RemoveTreeDoesNotFollowLinks) {
  ASSERT_TRUE(MakeDirs(At("keep")).ok());
  ASSERT_TRUE(WriteFileAtomic(At("keep/f"), "x", 0644, false).ok());
  ASSERT_TRUE(MakeDirs(At("gone/sub")).ok());
  ASSERT_EQ(symlink(At("keep").c_str(), At("gone/link").c_str()), 0);
  ASSERT_EQ(symlink("/nowhere", At("gone/dangling").c_str()), 0);
  EXPECT_TRUE(RemoveTree(At("gone")).ok());
  EXPECT_FALSE(FileExists(At("gone")));
  EXPECT_TRUE(FileExists(At("keep/f")));
  ASSERT_EQ(symlink(At("keep").c_str(), At("top").c_str()), 0);
  EXPECT_TRUE(RemoveTree(At("top")).ok());
  EXPECT_TRUE(FileExists(At("keep/f")));
  EXPECT_TRUE(RemoveTree(At("never-there")).ok());
  EXPECT_EQ(RemoveTree("/").code(), Code::kInvalid);
  EXPECT_EQ(RemoveTree(At("..")).code(), Code::kInvalid);
}

TEST_F(FileTest, RemoveTreeCopesWithModesAndDepth) {
  ASSERT_TRUE(MakeDirs(At("t/locked/inner")).ok());
  ASSERT_EQ(chmod(At("t/locked/inner").c_str(), 0), 0);
  ASSERT_EQ(chmod(At("t/locked").c_str(), 0500), 0);
  // Deeper than PATH_MAX and than the descriptor limit.
  ScopedFd at = Open(At("t"), O_RDONLY | O_DIRECTORY).value();
  const std::string name(60, 'n');
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(mkdirat(at.get(), name.c_str(), 0700), 0);
    at.Reset(openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
    ASSERT_TRUE(at.valid());
  }
  at.Reset();
  Status status = RemoveTree(At("t"));
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_FALSE(FileExists(At("t")));
}

TEST_F(FileTest, ListsSortedWithKinds) {
  ASSERT_TRUE(MakeDirs(At("b")).ok());
  ASSERT_TRUE(WriteFileAtomic(At("a\n"), "", 0644, false).ok());
  ASSERT_EQ(symlink("b", At("c").c_str()), 0);
  std::vector<DirEntry> got = ListDir(temp_->path()).value();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].name, "a\n");
  EXPECT_TRUE(got[0].is_file);
  EXPECT_TRUE(got[1].is_dir);
  EXPECT_TRUE(got[2].is_link && !got[2].is_dir);
  EXPECT_EQ(ListDir(At("none")).code(), Code::kNotFound);
}

TEST_F(FileTest, TempDirsDisappear) {
  std::string path;
  {
    TempDir dir = TempDir::Make("x", temp_->path()).value();
    path = dir.path();
    TempDir moved = std::move(dir);
    EXPECT_TRUE(DirExists(path));
    ASSERT_TRUE(WriteFileAtomic(path + "/f", "x", 0644, false).ok());
  }
  EXPECT_FALSE(FileExists(path));
}

TEST(SystemFacts, AreThere) {
  EXPECT_EQ(HomeDir().front(), '/');
  EXPECT_FALSE(Hostname().empty());
  EXPECT_EQ(BootId(), BootId());
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(RandomU64());
  EXPECT_EQ(seen.size(), 1000u);
}

TEST_F(FileTest, ACacheKeepsAndForgets) {
  const std::string folder = At("a/cache");
  const auto cache = MakeFolderCache(folder);
  EXPECT_EQ(cache->Get("one"), std::nullopt);
  cache->KeepOnly({});
  EXPECT_FALSE(DirExists(folder)) << "it is made when something is kept";
  cache->Keep("one", "first");
  cache->Keep("one", std::string("an\0other", 8));
  cache->Keep("two", "");
  EXPECT_EQ(cache->Get("one"), std::string("an\0other", 8));
  EXPECT_EQ(cache->Get("two"), "");
  ASSERT_TRUE(WriteFileAtomic(folder + "/mine.txt", "of the user").ok());
  cache->KeepOnly({"two", "three"});
  EXPECT_EQ(cache->Get("one"), std::nullopt);
  EXPECT_EQ(MakeFolderCache(folder)->Get("two"), "");
  EXPECT_TRUE(FileExists(folder + "/mine.txt"));
}

TEST_F(FileTest, ACacheThatCannotBeWrittenIsEmpty) {
  ASSERT_TRUE(WriteFileAtomic(At("file"), "").ok());
  const auto cache = MakeFolderCache(At("file/cache"));
  cache->Keep("one", "first");
  EXPECT_EQ(cache->Get("one"), std::nullopt);
  cache->KeepOnly({});
}

// In steps; again after a while alone; links are not followed.
TEST_F(FileTest, CountsWhatAFolderTakes) {
  RealClock clock;
  FolderMeter meter(clock);
  ASSERT_TRUE(MakeDirs(At("work/deep")).ok());
  ASSERT_TRUE(WriteFileAtomic(At("work/deep/a"), std::string(100'000, 'a'), 0640).ok());
  ASSERT_TRUE(WriteFileAtomic(At("elsewhere"), std::string(900'000, 'a'), 0640).ok());
  ASSERT_EQ(::symlink(At("elsewhere").c_str(), At("work/link").c_str()), 0);
  std::optional<int64_t> bytes;
  for (int i = 0; i < 100 && !bytes; ++i) bytes = meter.Bytes(At("work"));
  ASSERT_TRUE(bytes.has_value());
  EXPECT_GE(*bytes, 100'000);
  EXPECT_LE(*bytes, 300'000);
  ASSERT_TRUE(WriteFileAtomic(At("work/b"), std::string(500'000, 'a'), 0640).ok());
  EXPECT_EQ(meter.Bytes(At("work")), bytes);
  EXPECT_FALSE(meter.Bytes(At("nothing")).has_value());
}

}  // namespace
}  // namespace stoker::sys
