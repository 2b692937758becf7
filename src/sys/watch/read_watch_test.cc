// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/read_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "sys/file.h"
#include "sys/real_clock.h"
#include "sys/watch/checkpoint_files.h"

namespace stoker {
namespace {

class ReadWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = sys::TempDir::Make("reads");
    ASSERT_TRUE(made.ok());
    temp_ = std::make_unique<sys::TempDir>(std::move(*made));
    dir_ = temp_->path() + "/checkpoints";
    auto writer = OpenDirectoryWriter(dir_);
    ASSERT_TRUE(writer.ok());
    for (const char* path : {"last.pt", "step-1/model.pt", "log.jsonl"}) {
      auto file = (*writer)->Create(path);
      ASSERT_TRUE(file.ok());
      ASSERT_TRUE((*file)->Write("restored").ok());
      ASSERT_TRUE((*file)->Commit(0644, 1'600'000'000'000'000'000).ok());
    }
    CheckpointFilesOptions options;
    options.directory = dir_;
    options.staging = temp_->path();
    options.reads_of = [](const std::string& path) { return path != "log.jsonl"; };
    files_ = OpenCheckpointFiles(options, clock_);
  }

  std::string Path(const std::string& name) const { return dir_ + "/" + name; }
  int Open(const std::string& name, int flags) const {
    const int fd = open(Path(name).c_str(), flags, 0644);
    EXPECT_GE(fd, 0) << name;
    return fd;
  }
  void Save(const std::string& name, int flags = O_WRONLY | O_CREAT | O_TRUNC) const {
    const int fd = Open(name, flags);
    EXPECT_EQ(write(fd, "saved", 5), 5);
    close(fd);
  }
  // What has happened so far is heard when this is.
  std::optional<bool> Judge() {
    const std::string mark = "mark-" + std::to_string(++marks_);
    Save(mark);
    for (int looks = 0; looks < 2000; ++looks) {
      for (const FileEvent& event : files_->TakeEvents()) {
        if (event.path == mark && event.kind == FileEvent::Kind::kClosed) {
          return files_->AnybodyRead();
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "no hint of " << mark;
    return std::nullopt;
  }

  RealClock clock_;
  std::unique_ptr<sys::TempDir> temp_;
  std::string dir_;
  std::unique_ptr<CheckpointFiles> files_;
  int marks_ = 0;
};

TEST_F(ReadWatchTest, LookingAndWritingOverIsNoRead) {
  ASSERT_TRUE(files_->Scan().ok());
  ASSERT_TRUE(sys::ListDir(dir_).ok());
  ASSERT_TRUE(sys::FileExists(Path("last.pt")));
  Save("last.pt");
  Save("step-1/new.pt");
  ASSERT_EQ(rename(Path("step-1/new.pt").c_str(), Path("step-1/model.pt").c_str()), 0);
  Save("log.jsonl", O_WRONLY | O_APPEND);
  EXPECT_EQ(Judge(), false);  // the saves are heard of
  EXPECT_TRUE(sys::ReadFile(Path("log.jsonl")).ok());
  EXPECT_TRUE(sys::ReadFile(Path("last.pt")).ok()) << "its own, by now";
  EXPECT_EQ(Judge(), false);
}

TEST_F(ReadWatchTest, AReadIsHeard) {
  EXPECT_EQ(Judge(), false);
  EXPECT_TRUE(sys::ReadFile(Path("step-1/model.pt")).ok());
  EXPECT_EQ(Judge(), true);
  Save("step-1/model.pt");
  EXPECT_EQ(Judge(), true) << "what was read stays read";
}

TEST_F(ReadWatchTest, ReadsOfAFileThatIsThenWritten) {
  char byte = 0;
  const int fd = Open("last.pt", O_RDWR);
  EXPECT_EQ(pread(fd, &byte, 1, 0), 1);
  EXPECT_EQ(pwrite(fd, "x", 1, 0), 1);
  close(fd);
  EXPECT_EQ(Judge(), true);
}

TEST_F(ReadWatchTest, AMappingIsARead) {
  const int fd = Open("last.pt", O_RDONLY);
  void* mapped = mmap(nullptr, 8, PROT_READ, MAP_PRIVATE, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  close(fd);
  EXPECT_EQ(Judge(), true) << "also while it lasts";
  munmap(mapped, 8);
  EXPECT_EQ(Judge(), true);
}

// Nothing is read or written through the descriptor: numpy's memmap in mode r+.
TEST_F(ReadWatchTest, AMappingThatMayBeWrittenIsAReadWhereTimesOfAccessAreKept) {
  struct statvfs where;
  ASSERT_EQ(statvfs(dir_.c_str(), &where), 0);
  const int fd = Open("last.pt", O_RDWR);
  void* mapped = mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  close(fd);
  EXPECT_EQ(Judge(), true) << "while it lasts";
  munmap(mapped, 8);
  EXPECT_EQ(Judge(), (where.f_flag & ST_NOATIME) == 0);
}

TEST_F(ReadWatchTest, OtherNamesAreNoWayAround) {
  const std::string other = temp_->path() + "/other";
  ASSERT_EQ(link(Path("last.pt").c_str(), other.c_str()), 0);
  EXPECT_EQ(Judge(), true) << "who makes a name reads by it, sooner or later";
}

TEST_F(ReadWatchTest, ALinkFromElsewhereIsHeard) {
  const std::string other = temp_->path() + "/other";
  ASSERT_EQ(symlink(dir_.c_str(), other.c_str()), 0);
  EXPECT_EQ(Judge(), false);
  EXPECT_TRUE(sys::ReadFile(other + "/step-1/model.pt").ok());
  EXPECT_EQ(Judge(), true);
}

TEST_F(ReadWatchTest, WhatIsMovedMayBeReadUnheard) {
  ASSERT_EQ(rename(Path("step-1").c_str(), Path("old").c_str()), 0);
  EXPECT_EQ(Judge(), true);
}

TEST_F(ReadWatchTest, NobodyAsksAnyMore) {
  files_->ForgetReads();
  EXPECT_EQ(Judge(), std::nullopt);
  EXPECT_TRUE(sys::ReadFile(Path("last.pt")).ok());
  EXPECT_EQ(Judge(), std::nullopt);
}

// Where the file system keeps them, times of access tell what no hint does.
TEST(ReadWatch, TimesOfAccessAreAWitness) {
  auto temp = sys::TempDir::Make("reads");
  ASSERT_TRUE(temp.ok());
  const std::string path = temp->path() + "/a";
  ASSERT_TRUE(sys::WriteFileAtomic(path, "x", 0644, false).ok());
  const timespec old[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
  ReadWatch watch(temp->path(), [](const std::string&) { return true; });
  EXPECT_EQ(watch.Judge(), false);
  const timespec read[2] = {{1'000'000'001, 0}, {0, UTIME_OMIT}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), read, 0), 0);
  EXPECT_EQ(watch.Judge(), true);
}

TEST(ReadWatch, NobodyKnowsWithoutHintsOrOnOtherFileSystems) {
  auto temp = sys::TempDir::Make("reads");
  ASSERT_TRUE(temp.ok());
  ReadWatch lost(temp->path(), [](const std::string&) { return true; });
  lost.Lost();
  EXPECT_EQ(lost.Judge(), std::nullopt);
  ReadWatch elsewhere("/proc/self", [](const std::string&) { return true; });
  EXPECT_EQ(elsewhere.Judge(), std::nullopt);
}

}  // namespace
}  // namespace stoker
