// SPDX-License-Identifier: Apache-2.0
// Copies that take few descriptors and little room.
#include "sys/watch/take_moment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "sys/file.h"
#include "sys/real_clock.h"
#include "sys/watch/checkpoint_files.h"

namespace stoker {
namespace {

constexpr int64_t kMiB = 1 << 20;

class TakeMomentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = sys::TempDir::Make("moment");
    ASSERT_TRUE(made.ok());
    temp_ = std::make_unique<sys::TempDir>(std::move(*made));
    dir_ = temp_->path() + "/checkpoints";
    ASSERT_TRUE(sys::MakeDirs(dir_).ok());
    Open(0);
  }
  void Open(size_t at_once) {
    CheckpointFilesOptions options;
    options.directory = dir_;
    options.staging = temp_->path() + "/staging";
    options.reserve = 0;
    options.watch = false;
    options.hold_at_once = at_once;
    files_ = OpenCheckpointFiles(options, clock_);
  }
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(sys::WriteFileAtomic(dir_ + "/" + name, bytes, 0644, false).ok());
  }
  // Waits until what was just written can be told from what is written next.
  Result<std::unique_ptr<Snapshot>> Take(bool or_original = false) {
    usleep(50'000);
    return TakeNow(or_original);
  }
  Result<std::unique_ptr<Snapshot>> TakeNow(bool or_original) {
    SnapshotRequest request;
    STOKER_ASSIGN(const DirectoryScan scan, files_->Scan());
    request.copy = scan.files;
    request.need_task = false;
    request.or_original = or_original;
    return files_->Take(request);
  }
  static std::string Text(Snapshot& snapshot, size_t index) {
    std::string text(static_cast<size_t>(snapshot.files()[index].size) + 10, '?');
    const auto got = snapshot.Read(index, 0, text.data(), static_cast<int64_t>(text.size()));
    EXPECT_TRUE(got.ok());
    text.resize(got.ok() ? static_cast<size_t>(*got) : 0);
    return text;
  }
  static size_t Descriptors() { return sys::ListDir("/proc/self/fd")->size(); }
  static int64_t Allocated(int fd) {
    struct stat info;
    return fstat(fd, &info) == 0 ? int64_t{info.st_blocks} * 512 : -1;
  }

  std::unique_ptr<sys::TempDir> temp_;
  std::string dir_;
  RealClock clock_;
  std::unique_ptr<CheckpointFiles> files_;
};

// No more bytes into any file of this process than `most`.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t most) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const struct rlimit small { most, before_.rlim_max };
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  struct rlimit before_ {};
};

TEST_F(TakeMomentTest, ManyFilesTakeFewDescriptors) {
  Open(7);
  for (int i = 0; i < 300; ++i) Write("f" + std::to_string(i), "content of " + std::to_string(i));
  Write("large", std::string(3 * kMiB, 'x'));
  const size_t before = Descriptors();
  auto copy = Take();
  ASSERT_TRUE(copy.ok()) << copy.status().ToString();
  ASSERT_EQ((*copy)->files().size(), 301u);
  EXPECT_LE(Descriptors(), before + 2);
  for (size_t i = 0; i < 301; ++i) {
    const std::string& path = (*copy)->files()[i].path;
    EXPECT_TRUE((*copy)->copied(i));
    if (path == "large") {
      EXPECT_EQ(Text(**copy, i), std::string(3 * kMiB, 'x'));
    } else {
      EXPECT_EQ(Text(**copy, i), "content of " + path.substr(1));
    }
  }
}

// Its next write could bear the same time.
TEST_F(TakeMomentTest, OfManyFilesNoneMayHaveBeenWrittenJustNow) {
  Open(1);
  bool refused = false;
  // A machine that has much to do may be too slow to be quick.
  for (int i = 0; i < 1000 && !refused; ++i) {
    Write("a", "1");
    Write("b", "1");
    refused = TakeNow(false).code() == Code::kBusy;
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(Take().ok());
}

TEST_F(TakeMomentTest, HolesAreCopiedAsHoles) {
  const std::string path = dir_ + "/sparse";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_EQ(pwrite(fd, "begin", 5, 0), 5);
  ASSERT_EQ(pwrite(fd, "middle", 6, 32 * kMiB), 6);
  ASSERT_EQ(ftruncate(fd, 64 * kMiB), 0);
  ASSERT_LT(Allocated(fd), kMiB);
  close(fd);
  for (const size_t at_once : {0, 1}) {
    Open(at_once);
    Write("other", "small");
    auto copy = Take();
    ASSERT_TRUE(copy.ok()) << copy.status().ToString();
    EXPECT_LT(Allocated((*copy)->Descriptor(1)), kMiB);
    const std::string text = Text(**copy, 1);
    ASSERT_EQ(text.size(), static_cast<size_t>(64 * kMiB));
    EXPECT_EQ(text.substr(0, 6), std::string("begin\0", 6));
    EXPECT_EQ(text.substr(32 * kMiB, 6), "middle");
  }
}

TEST_F(TakeMomentTest, ZerosAreRestoredAsHoles) {
  auto writer = OpenDirectoryWriter(dir_);
  ASSERT_TRUE(writer.ok());
  std::string bytes(8 * kMiB, '\0');
  bytes.replace(3 * kMiB, 5, "inner");
  for (const bool ranged : {false, true}) {
    auto file = (*writer)->Create("sparse");
    ASSERT_TRUE(file.ok());
    if (ranged) {
      ASSERT_TRUE((*file)->WriteAt(4 * kMiB, bytes.substr(4 * kMiB)).ok());
      ASSERT_TRUE((*file)->WriteAt(0, bytes.substr(0, 4 * kMiB)).ok());
      std::string again(bytes.size(), '?');
      const auto got = (*file)->ReadAt(0, again.data(), 8 * kMiB);
      ASSERT_TRUE(got.ok());
      EXPECT_EQ(*got, 8 * kMiB);
      EXPECT_TRUE(again == bytes);
    } else {
      ASSERT_TRUE((*file)->Write(bytes.substr(0, kMiB)).ok());
      ASSERT_TRUE((*file)->Write(bytes.substr(kMiB)).ok());
    }
    ASSERT_TRUE((*file)->Commit(0644, 0).ok());
    EXPECT_TRUE(*sys::ReadFile(dir_ + "/sparse") == bytes);
    const auto fd = sys::Open(dir_ + "/sparse", O_RDONLY);
    EXPECT_LT(Allocated(fd->get()), kMiB);
  }
}

TEST_F(TakeMomentTest, WithoutRoomTheFilesThemselvesAreRead) {
  Write("model.pt", std::string(kMiB, 'm'));
  {
    const SmallFiles small(4096);
    EXPECT_EQ(Take().code(), Code::kNoSpace);
    auto original = Take(true);
    ASSERT_TRUE(original.ok()) << original.status().ToString();
    EXPECT_FALSE((*original)->copied(0));
    EXPECT_EQ(Text(**original, 0), std::string(kMiB, 'm'));
    EXPECT_TRUE((*original)->StillSame(0).ok());
    // As long as before, and with the old time set by hand.
    struct stat was;
    ASSERT_EQ(stat((dir_ + "/model.pt").c_str(), &was), 0);
    const int fd = open((dir_ + "/model.pt").c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(pwrite(fd, "n", 1, 5), 1);
    const timespec times[2] = {was.st_atim, was.st_mtim};
    ASSERT_EQ(futimens(fd, times), 0);
    close(fd);
    EXPECT_EQ((*original)->StillSame(0).code(), Code::kConflict);
  }
  EXPECT_TRUE((*Take(true))->copied(0));
}

}  // namespace
}  // namespace stoker
