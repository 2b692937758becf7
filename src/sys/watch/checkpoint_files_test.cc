// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/checkpoint_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

#include "sys/file.h"
#include "sys/real_clock.h"
#include "sys/watch/directory_scan.h"
#include "sys/watch/told_lines.h"

namespace stoker {
namespace {

using std::chrono::milliseconds;

class CheckpointFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = sys::TempDir::Make("ckpt");
    ASSERT_TRUE(made.ok());
    temp_ = std::make_unique<sys::TempDir>(std::move(*made));
    dir_ = temp_->path() + "/checkpoints";
    ASSERT_TRUE(sys::MakeDirs(dir_).ok());
  }
  void TearDown() override {
    for (pid_t pid : children_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  std::unique_ptr<CheckpointFiles> Open() {
    CheckpointFilesOptions options;
    options.directory = dir_;
    options.staging = temp_->path() + "/staging";
    options.reserve = 0;
    return OpenCheckpointFiles(options, clock_);
  }
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(sys::WriteFileAtomic(temp_->path() + "/x", bytes, 0644, false).ok());
    const int fd = open((dir_ + "/" + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ASSERT_GE(fd, 0);
    ASSERT_TRUE(sys::WriteAll(fd, bytes, name).ok());
    close(fd);
  }
  // A child that does `work`, tells that it has, and waits to be killed.
  pid_t Child(const std::function<void()>& work) {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      work();
      (void)!write(ready[1], "x", 1);
      for (;;) pause();
    }
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    children_.push_back(pid);
    return pid;
  }
  SnapshotRequest Copy(CheckpointFiles& files) {
    SnapshotRequest request;
    auto scan = files.Scan();
    EXPECT_TRUE(scan.ok());
    if (scan.ok()) request.copy = scan->files;
    request.need_task = false;
    return request;
  }
  // Events until one fits, or two seconds.
  bool Sees(CheckpointFiles& files, const std::function<bool(const FileEvent&)>& fits) {
    for (int i = 0; i < 100; ++i) {
      files.Wait(Duration::Ms(20));
      for (const FileEvent& event : files.TakeEvents()) {
        if (fits(event)) return true;
      }
    }
    return false;
  }

  RealClock clock_;
  std::unique_ptr<sys::TempDir> temp_;
  std::string dir_;
  std::vector<pid_t> children_;
};

std::string Read(Snapshot& snapshot, size_t index) {
  std::string out(static_cast<size_t>(snapshot.files()[index].size), '\0');
  auto got = snapshot.Read(index, 0, out.data(), static_cast<int64_t>(out.size()));
  EXPECT_TRUE(got.ok());
  return out;
}

TEST_F(CheckpointFilesTest, CopiesOneMomentAndLeavesNothingBehind) {
  Write("a", "first");
  Write("b", std::string(3 << 20, 'b'));
  auto files = Open();
  auto copy = files->Take(Copy(*files));
  ASSERT_TRUE(copy.ok()) << copy.status().ToString();
  Write("a", "second");
  EXPECT_EQ(Read(**copy, 0), "first");
  EXPECT_EQ(Read(**copy, 1), std::string(3 << 20, 'b'));
  EXPECT_GE((*copy)->Descriptor(0), 0);
  auto staged = sys::ListDir(temp_->path() + "/staging");
  ASSERT_TRUE(staged.ok());
  EXPECT_TRUE(staged->empty());
}

TEST_F(CheckpointFilesTest, RefusesWhatChangedSinceItWasLookedAt) {
  Write("a", "first");
  auto files = Open();
  const SnapshotRequest request = Copy(*files);
  Write("a", "other");
  EXPECT_EQ(files->Take(request).code(), Code::kConflict);
  SnapshotRequest stay = Copy(*files);
  stay.stay = std::move(stay.copy);
  stay.copy.clear();
  ASSERT_EQ(unlink((dir_ + "/a").c_str()), 0);
  EXPECT_EQ(files->Take(stay).code(), Code::kConflict);
}

TEST_F(CheckpointFilesTest, SeesAnOpenWriterAndAMappingWithoutDescriptor) {
  Write("opened", "1");
  Write("mapped", std::string(4096, 'm'));
  auto files = Open();
  const pid_t opener = Child([&] { (void)open((dir_ + "/opened").c_str(), O_WRONLY); });
  const pid_t mapper = Child([&] {
    const int fd = open((dir_ + "/mapped").c_str(), O_RDWR);
    char* bytes =
        static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
    bytes[0] = 'x';
  });
  files->WatchTask([=] { return std::vector<int>{opener, mapper}; });
  auto scan = files->Scan();
  ASSERT_TRUE(scan.ok());
  EXPECT_TRUE(scan->writers_known);
  EXPECT_TRUE(scan->task_alive);
  EXPECT_EQ(scan->written, (std::set<std::string>{"opened"}));
  EXPECT_EQ(scan->mapped, (std::set<std::string>{"mapped"}));
  SnapshotRequest request;
  request.copy = scan->files;
  EXPECT_EQ(files->Take(request).code(), Code::kBusy);
  request.even_if_open = true;
  EXPECT_TRUE(files->Take(request).ok());
}

TEST_F(CheckpointFilesTest, AWriterWaitsInOpenAndIsLetInAfterwards) {
  Write("a", std::string(64 << 20, 'a'));
  auto files = Open();
  std::atomic<bool> stop{false};
  std::atomic<int> writes{0};
  std::thread writer([&] {
    while (!stop) {
      const int fd = open((dir_ + "/a").c_str(), O_WRONLY);
      const std::string bytes(64 << 20, static_cast<char>('b' + writes % 20));
      (void)sys::WriteAll(fd, bytes, "a");
      close(fd);
      ++writes;
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  int whole = 0;
  // How many tries a whole copy takes depends on the machine and on sanitizers: a limit against
  // a hang, no more.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (whole < 3 && std::chrono::steady_clock::now() < end) {
    SnapshotRequest request = Copy(*files);
    request.patience = Duration::Seconds(5);
    auto copy = files->Take(request);
    if (!copy.ok()) {
      std::this_thread::sleep_for(milliseconds(2));
      continue;
    }
    const std::string bytes = Read(**copy, 0);
    // Each byte is like the one before it: memcmp, because a loop over 64 MB is slow under TSan.
    EXPECT_EQ(memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1), 0);
    ++whole;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(whole, 3);
  EXPECT_GT(writes, 3);
}

TEST_F(CheckpointFilesTest, TellsOfWritesRenamesAndFoldersInOrder) {
  auto files = Open();
  ASSERT_TRUE(sys::MakeDirs(dir_ + "/step-1/deep").ok());
  Write("step-1/deep/model", "1");
  EXPECT_TRUE(Sees(*files, [](const FileEvent& event) {
    return event.path == "step-1/deep/model" && event.kind != FileEvent::Kind::kGone;
  }));
  ASSERT_EQ(rename((dir_ + "/step-1").c_str(), (dir_ + "/step-2").c_str()), 0);
  EXPECT_TRUE(Sees(*files, [](const FileEvent& event) {
    return event.kind == FileEvent::Kind::kMovedIn && event.path == "step-2" &&
           event.from == "step-1" && event.directory;
  }));
  Write("step-2/deep/model", "2");
  EXPECT_TRUE(Sees(*files, [](const FileEvent& event) {
    return event.kind == FileEvent::Kind::kClosed && event.path == "step-2/deep/model";
  }));
  ASSERT_EQ(unlink((dir_ + "/step-2/deep/model").c_str()), 0);
  EXPECT_TRUE(Sees(*files, [](const FileEvent& event) {
    return event.kind == FileEvent::Kind::kGone && event.path == "step-2/deep/model";
  }));
}

TEST_F(CheckpointFilesTest, SaysHowTheWriterWentOn) {
  for (const bool killed : {false, true}) {
    auto files = Open();
    const pid_t pid = Child([&] {
      const int fd = open((dir_ + "/a").c_str(), O_WRONLY | O_CREAT, 0644);
      (void)!write(fd, "x", 1);
      if (!killed) close(fd);
    });
    files->WatchTask([=] { return std::vector<int>{pid}; });
    ASSERT_TRUE(files->Scan().ok());
    if (!killed) {
      EXPECT_TRUE(Sees(*files, [](const FileEvent& event) {
        return event.kind == FileEvent::Kind::kClosed && event.fate == Fate::kLived;
      }));
    } else {
      (void)files->TakeEvents();
      kill(pid, SIGKILL);
      EXPECT_TRUE(Sees(*files, [](const FileEvent& event) {
        return event.kind == FileEvent::Kind::kClosed && event.fate == Fate::kKilled;
      }));
    }
  }
}

TEST_F(CheckpointFilesTest, WatchesADirectoryThatTheProgramMakesLater) {
  ASSERT_TRUE(sys::RemoveTree(dir_).ok());
  auto files = Open();
  auto scan = files->Scan();
  ASSERT_TRUE(scan.ok());
  EXPECT_TRUE(scan->files.empty());
  ASSERT_TRUE(sys::MakeDirs(dir_).ok());
  Write("a", "1");
  EXPECT_TRUE(Sees(*files, [](const FileEvent& event) { return event.path == "a"; }));
}

TEST_F(CheckpointFilesTest, KeepsLinksInsideOnly) {
  Write("a", "1");
  ASSERT_EQ(symlink("a", (dir_ + "/inside").c_str()), 0);
  ASSERT_EQ(symlink((dir_ + "/a").c_str(), (dir_ + "/absolute").c_str()), 0);
  ASSERT_EQ(symlink("../../etc/passwd", (dir_ + "/outside").c_str()), 0);
  ASSERT_EQ(mkfifo((dir_ + "/pipe").c_str(), 0644), 0);
  auto scan = Open()->Scan();
  ASSERT_TRUE(scan.ok());
  std::map<std::string, std::string> links;
  for (const FileFact& fact : scan->files) {
    if (fact.kind == FileKind::kLink) links[fact.path] = fact.target;
  }
  EXPECT_EQ(links, (std::map<std::string, std::string>{{"absolute", "a"}, {"inside", "a"}}));
  std::map<std::string, SkipReason> skipped;
  for (const SkippedEntry& entry : scan->skipped) skipped[entry.path] = entry.why;
  EXPECT_EQ(skipped, (std::map<std::string, SkipReason>{{"outside", SkipReason::kLeadsOut},
                                                        {"pipe", SkipReason::kNoFile}}));
}

// What an ELF core begins with; one that is called so and is none, and a name that nobody asks of.
TEST_F(CheckpointFilesTest, LeavesCoreDumpsOut) {
  const std::string elf = std::string(
                              "\x7f"
                              "ELF\x02\x01\x01",
                              7) +
                          std::string(9, '\0');
  Write("core.12", elf + std::string("\x04\0memory", 8));
  Write("core.so", elf + std::string("\x03\0code", 6));
  Write("score", "1");
  auto scan = Open()->Scan();
  ASSERT_TRUE(scan.ok());
  ASSERT_EQ(scan->skipped.size(), 1u);
  EXPECT_EQ(scan->skipped[0], (SkippedEntry{"core.12", SkipReason::kCoreDump}));
  EXPECT_EQ(scan->files.size(), 2u);
}

TEST_F(CheckpointFilesTest, RestoringFollowsNoLinkAndReplacesWhatIsInTheWay) {
  const std::string outside = temp_->path() + "/outside";
  ASSERT_TRUE(sys::MakeDirs(outside).ok());
  ASSERT_EQ(symlink(outside.c_str(), (dir_ + "/sub").c_str()), 0);
  ASSERT_TRUE(sys::MakeDirs(dir_ + "/file/was/a/folder").ok());
  Write("left-over", "x");
  auto writer = OpenDirectoryWriter(dir_);
  ASSERT_TRUE(writer.ok());
  for (const char* path : {"sub/a", "file"}) {
    auto file = (*writer)->Create(path);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    ASSERT_TRUE((*file)->Write("new").ok());
    ASSERT_TRUE((*file)->Commit(0640, 1'700'000'000'123'456'789).ok());
  }
  EXPECT_EQ((*writer)->Create("../a").code(), Code::kInvalid);
  ASSERT_TRUE((*writer)->RemoveOthers({"sub/a", "file"}).ok());
  EXPECT_TRUE(sys::ListDir(outside)->empty());
  EXPECT_EQ(*sys::ReadFile(dir_ + "/sub/a"), "new");
  EXPECT_FALSE(sys::FileExists(dir_ + "/left-over"));
  struct stat info;
  ASSERT_EQ(stat((dir_ + "/file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_EQ(info.st_mtim.tv_sec, 1'700'000'000);
  EXPECT_EQ(info.st_mtim.tv_nsec, 123'456'789);
}

TEST_F(CheckpointFilesTest, NamesComeInOrderAndOneFileMayHaveSeveral) {
  auto writer = OpenDirectoryWriter(dir_);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(sys::MakeDirs(dir_ + "/step-2/is/a/folder").ok());
  const std::vector<std::string> names = {"z", "step-1/model", "step-2", "a"};
  for (size_t i = 0; i < names.size(); ++i) {
    auto file = (*writer)->Create("new/" + std::to_string(i));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Write(names[i]).ok());
    ASSERT_TRUE((*file)->Commit(0600, 1'000'000'000).ok());
  }
  int64_t before = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const Status named = (*writer)->Rename("new/" + std::to_string(i), names[i], true);
    ASSERT_TRUE(named.ok()) << named.ToString();
    struct stat info;
    ASSERT_EQ(stat((dir_ + "/" + names[i]).c_str(), &info), 0);
    const int64_t changed = info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec;
    EXPECT_GT(changed, before) << names[i];
    EXPECT_EQ(info.st_mtim.tv_sec, 1);
    before = changed;
  }
  ASSERT_TRUE((*writer)->MakeHardLink("step-1/last", "a").ok());
  ASSERT_TRUE((*writer)->RemoveOthers({"z", "step-1/model", "step-1/last", "step-2", "a"}).ok());
  struct stat one;
  struct stat other;
  ASSERT_EQ(stat((dir_ + "/a").c_str(), &one), 0);
  ASSERT_EQ(stat((dir_ + "/step-1/last").c_str(), &other), 0);
  EXPECT_EQ(one.st_ino, other.st_ino);
  EXPECT_FALSE(sys::FileExists(dir_ + "/new"));
  EXPECT_EQ((*writer)->Rename("a", "../a", false).code(), Code::kInvalid);
}

TEST_F(CheckpointFilesTest, AWriterThatMayNotReplaceLeavesWhatIsThere) {
  const std::string outside = temp_->path() + "/outside";
  ASSERT_TRUE(sys::MakeDirs(outside).ok());
  ASSERT_EQ(symlink(outside.c_str(), (dir_ + "/sub").c_str()), 0);
  Write("file", "mine");
  ASSERT_TRUE(sys::MakeDirs(dir_ + "/folder/inside").ok());
  auto writer = OpenDirectoryWriter(dir_, InTheWay::kRefuse);
  ASSERT_TRUE(writer.ok());
  const auto put = [&](const char* path) {
    auto file = (*writer)->Create(path);
    return file.ok() ? (*file)->Commit(0640, 0) : file.status();
  };
  for (const char* path : {"file", "file/below", "sub/a", "sub", "folder"}) {
    EXPECT_EQ(put(path).code(), Code::kExists) << path;
    EXPECT_EQ((*writer)->MakeLink(path, "x").code(), Code::kExists) << path;
  }
  EXPECT_TRUE(put("new").ok());
  EXPECT_TRUE(sys::ListDir(outside)->empty());
  EXPECT_EQ(*sys::ReadFile(dir_ + "/file"), "mine");

  writer = OpenDirectoryWriter(dir_, InTheWay::kReplace);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(put("folder").code(), Code::kExists) << "a folder is not removed for a file";
  EXPECT_EQ((*writer)->MakeLink("folder", "x").code(), Code::kExists);
  EXPECT_TRUE(put("file/below").ok());
  EXPECT_TRUE(put("sub").ok());
  EXPECT_TRUE(sys::ListDir(outside)->empty());
  EXPECT_TRUE(sys::DirExists(dir_ + "/folder/inside"));
  for (const auto& entry : *sys::ListDir(dir_)) {
    EXPECT_NE(entry.name[0], '.') << "a temporary file is left: " << entry.name;
  }
}

TEST_F(CheckpointFilesTest, AnUnfinishedFileIsNeverSeen) {
  auto writer = OpenDirectoryWriter(dir_);
  ASSERT_TRUE(writer.ok());
  {
    auto file = (*writer)->Create("a");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Write("half").ok());
    EXPECT_FALSE(sys::FileExists(dir_ + "/a"));
  }
  EXPECT_TRUE(sys::ListDir(dir_)->empty());
}

TEST(WalkTree, AsksForNoFileThatIsNotNamed) {
  const auto temp = sys::TempDir::Make("walk");
  ASSERT_TRUE(temp.ok());
  const std::string root = temp->path();
  ASSERT_TRUE(sys::MakeDirs(root + "/folder.txt").ok());
  for (const char* name : {"/a.csv", "/b.txt", "/folder.txt/c.csv", "/folder.txt/d.txt"}) {
    ASSERT_TRUE(sys::WriteFileAtomic(root + name, "x").ok());
  }
  ASSERT_EQ(symlink("b.txt", (root + "/link.csv").c_str()), 0);
  std::vector<std::string> asked;
  TreeFilter filter;
  filter.named = [](const std::string& path) { return path.ends_with(".csv"); };
  filter.wanted = [&](const FileFact& fact) {
    asked.push_back(fact.path);
    return false;
  };
  ASSERT_TRUE(WalkTree(root, filter).ok());
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, (std::vector<std::string>{"a.csv", "folder.txt/c.csv", "link.csv"}));
}

// Lines that are cut, too long, or written anew.
TEST(ToldLines, EachWholeLineOnce) {
  auto temp = sys::TempDir::Make("told");
  ASSERT_TRUE(temp.ok());
  const std::string path = temp->path() + "/saves.txt";
  ToldLines told(path);
  using Lines = std::vector<std::string>;
  EXPECT_EQ(told.Take(), Lines());
  std::ofstream(path) << "begin 1\nend";
  EXPECT_EQ(told.Take(), Lines{"begin 1"});
  EXPECT_EQ(told.Take(), Lines());
  std::ofstream(path, std::ios::app) << " 1\n" << std::string(70'000, 'x');
  EXPECT_EQ(told.Take(), Lines{"end 1"});
  std::ofstream(path, std::ios::app) << std::string(70'000, 'x') << "\nbegin 2\n";
  EXPECT_EQ(told.Take(), Lines{"begin 2"});
  std::ofstream(path) << "anew\n";
  EXPECT_EQ(told.Take(), Lines{"anew"});
}

}  // namespace
}  // namespace stoker
