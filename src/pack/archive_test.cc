// SPDX-License-Identifier: Apache-2.0
#include "pack/archive.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "base/digest.h"
#include "base/text.h"
#include "pack/extract.h"
#include "test/kit/tree.h"

namespace stoker::pack {
namespace {

Result<PackSummary> PackDir(const std::string& dir, const std::string& out,
                            const PackOptions& options = {}) {
  STOKER_ASSIGN(Listing listing, ListWorkdir(dir));
  return Pack(listing, out, options);
}

void SetTime(const std::string& path, int64_t seconds, int64_t nanoseconds) {
  const timespec times[2] = {{seconds, nanoseconds}, {seconds, nanoseconds}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
}

void FillTree(TestTree& tree) {
  tree.Write("train.py", "print(1)\n");
  tree.Write("run.sh", "#!/bin/sh\n", 0755);
  tree.Write("secretive", "x", 0600);
  tree.Write("readonly/file", "x", 0444);
  tree.Write("empty", "");
  tree.Write("big", std::string(3'000'000, 'b') + "end");
  for (const char* name : {"-dash", "a\nb", "sp ace ", "\xff\xfe", "\xc3\xa9", "tab\t", "q\"'"}) {
    tree.Write(std::string("odd/") + name, name);
  }
  tree.Write("odd/" + std::string(255, 'n'), "long");
  std::string deep = "deep";
  for (int i = 0; i < 12; ++i) deep += "/" + std::string(100, static_cast<char>('a' + i));
  tree.Write(deep + "/\xfe", "deep");
  EXPECT_TRUE(sys::MakeDirs(tree.At("hollow/inner")).ok());
  EXPECT_EQ(symlink("train.py", tree.At("link").c_str()), 0);
  EXPECT_EQ(symlink("/etc/hostname", tree.At("absolute").c_str()), 0);
  EXPECT_EQ(symlink("../../up", tree.At("odd/outside").c_str()), 0);
  EXPECT_EQ(symlink("odd", tree.At("dirlink").c_str()), 0);
  EXPECT_EQ(symlink(std::string(1000, 't').c_str(), tree.At("longlink").c_str()), 0);
  EXPECT_EQ(link(tree.At("train.py").c_str(), tree.At("hard.py").c_str()), 0);
  EXPECT_EQ(chmod(tree.At("hollow").c_str(), 0700), 0);
  SetTime(tree.At("train.py"), 1'234'567'890, 123'456'789);
  SetTime(tree.At("empty"), -5, 0);
  SetTime(tree.At("link"), 1'000'000'000, 1);
}

TEST(Archive, RoundTripKeepsEverything) {
  TestTree tree;
  FillTree(tree);
  Result<PackSummary> packed = PackDir(tree.root(), tree.Beside("a"));
  ASSERT_TRUE(packed.ok()) << packed.status().ToString();
  EXPECT_EQ(packed->sha256, Sha256Hex(Text(tree.Beside("a"))));
  EXPECT_EQ(packed->packed_bytes, static_cast<int64_t>(Text(tree.Beside("a")).size()));
  const std::string notes = Join(packed->notes, "\n");
  EXPECT_NE(notes.find("absolute -> /etc/hostname"), std::string::npos) << notes;
  EXPECT_NE(notes.find("odd/outside -> ../../up"), std::string::npos);
  EXPECT_EQ(notes.find("dirlink"), std::string::npos);
  ExtractOptions options;
  options.sha256 = packed->sha256;
  Status status = ExtractFile(tree.Beside("a"), tree.Beside("out"), options);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(Snapshot(tree.Beside("out")), Snapshot(tree.root()));
  struct stat one;
  struct stat two;
  ASSERT_EQ(stat((tree.Beside("out") + "/train.py").c_str(), &one), 0);
  ASSERT_EQ(stat((tree.Beside("out") + "/hard.py").c_str(), &two), 0);
  EXPECT_EQ(one.st_ino, two.st_ino);
}

TEST(Archive, SameContentSameBytes) {
  TestTree tree;
  FillTree(tree);
  const PackSummary first = PackDir(tree.root(), tree.Beside("1")).value();
  // A copy made in another order, with other inodes and other times of folders.
  ASSERT_TRUE(ExtractFile(tree.Beside("1"), tree.Beside("copy")).ok());
  ASSERT_TRUE(sys::WriteFileAtomic(tree.Beside("copy/odd/x"), "").ok());
  ASSERT_EQ(unlink(tree.Beside("copy/odd/x").c_str()), 0);
  const PackSummary second = PackDir(tree.Beside("copy"), tree.Beside("2")).value();
  EXPECT_EQ(first.sha256, second.sha256);
  SetTime(tree.Beside("copy/empty"), 7, 0);
  EXPECT_NE(PackDir(tree.Beside("copy"), tree.Beside("3"))->sha256, first.sha256);
}

TEST(Archive, OtherToolsReadIt) {
  TestTree tree;
  FillTree(tree);
  ASSERT_TRUE(PackDir(tree.root(), tree.Beside("a")).ok());
  // Through the system's tar, from the tar file inside.
  sys::ScopedFd in = sys::Open(tree.Beside("a"), O_RDONLY).value();
  ZstdReader zstd([&](char* b, int64_t n) -> Result<int64_t> { return read(in.get(), b, n); }, {});
  std::string tar(64 << 20, '\0');
  int64_t size = 0;
  while (true) {
    Result<int64_t> got = zstd.Read(tar.data() + size, static_cast<int64_t>(tar.size()) - size);
    ASSERT_TRUE(got.ok());
    if (*got == 0) break;
    size += *got;
  }
  tar.resize(static_cast<size_t>(size));
  ASSERT_TRUE(sys::WriteFileAtomic(tree.Beside("a.tar"), tar).ok());
  ASSERT_TRUE(sys::MakeDirs(tree.Beside("gnu")).ok());
  const sys::Command untar = {
      {"tar", "--no-same-owner", "-p", "-xf", tree.Beside("a.tar"), "-C", tree.Beside("gnu")},
      TestEnvironment()};
  Result<sys::CommandOutput> got = std::move(sys::RunCommands({untar}, 20000)[0]);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  ASSERT_EQ(got->exit_code, 0) << got->err;
  EXPECT_EQ(Snapshot(tree.Beside("gnu")), Snapshot(tree.root()));
}

TEST(Archive, EmptyDirectoryAndDescription) {
  TestTree tree;
  PackSummary empty = PackDir(tree.root(), tree.Beside("a")).value();
  EXPECT_EQ(Describe(empty), "0 files, 0 B");
  EXPECT_TRUE(ExtractFile(tree.Beside("a"), tree.Beside("out")).ok());
  EXPECT_TRUE(sys::DirExists(tree.Beside("out")));
  tree.Write("a", std::string(1000, 'x'));
  EXPECT_EQ(Describe(PackDir(tree.root(), tree.Beside("b")).value()), "1 file, 1.0 kB");
  tree.Git({"init", "-q"});
  EXPECT_EQ(Describe(PackDir(tree.root(), tree.Beside("c")).value()),
            "git without commit, 1 file, 1.0 kB");
  tree.Git({"add", "-A"});
  tree.Git({"commit", "-q", "-m", "x"});
  const std::string commit = tree.Git({"rev-parse", "HEAD"}).substr(0, 7);
  EXPECT_EQ(Describe(PackDir(tree.root(), tree.Beside("d")).value()),
            "git " + commit + ", 1 file, 1.0 kB");
  tree.Write("b", "");
  EXPECT_EQ(Describe(PackDir(tree.root(), tree.Beside("e")).value()),
            "git " + commit + " dirty, 2 files, 1.0 kB");
}

TEST(Archive, StopsAtCredentials) {
  TestTree tree;
  const std::string token = "ghp_" + std::string("aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z5A");
  tree.Write("sub/conf.py", "a = 1\ntoken = '" + token + "'\n");
  Result<PackSummary> packed = PackDir(tree.root(), tree.Beside("a"));
  EXPECT_EQ(packed.code(), Code::kInvalid);
  EXPECT_NE(packed.status().message().find("sub/conf.py:2"), std::string::npos);
  EXPECT_NE(packed.status().next().find(".stokerignore"), std::string::npos);
  EXPECT_EQ(packed.status().ToString().find(token), std::string::npos) << "the secret is repeated";
  EXPECT_FALSE(sys::FileExists(tree.Beside("a")));
  tree.Write(".stokerignore", "/sub/conf.py\n");
  EXPECT_TRUE(PackDir(tree.root(), tree.Beside("a")).ok());
}

TEST(Archive, NoticesChangesBetweenListingAndPacking) {
  TestTree tree;
  tree.Write("a", "one");
  tree.Write("d/b", "x");
  PackOptions once;
  once.retries = 0;
  const std::vector<std::function<void()>> changes = {
      [&] { ASSERT_TRUE(sys::WriteFileAtomic(tree.At("a"), "two", 0644, false).ok()); },
      [&] {
        sys::ScopedFd fd = sys::Open(tree.At("a"), O_WRONLY).value();
        ASSERT_EQ(pwrite(fd.get(), "z", 1, 0), 1);  // same inode, same size
      },
      [&] { tree.Write("d/new", "x"); },
      [&] { ASSERT_EQ(unlink(tree.At("d/new").c_str()), 0); },
      [&] { ASSERT_EQ(rename(tree.At("d/b").c_str(), tree.At("d/c").c_str()), 0); },
      [&] { ASSERT_EQ(chmod(tree.At("a").c_str(), 0600), 0); },
      [&] { ASSERT_TRUE(sys::MakeDirs(tree.At("fresh")).ok()); },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Listing listing = ListWorkdir(tree.root()).value();
    usleep(30'000);  // past the step of the clock, as Pack itself waits
    changes[i]();
    Result<PackSummary> packed = Pack(listing, tree.Beside("a"), once);
    EXPECT_EQ(packed.code(), Code::kBusy) << i;
    EXPECT_FALSE(sys::FileExists(tree.Beside("a")));
    // With the usual retries it is listed again, and packed as it is now.
    EXPECT_TRUE(Pack(listing, tree.Beside("a")).ok()) << i;
    ASSERT_TRUE(ExtractFile(tree.Beside("a"), tree.Beside("out")).ok());
    EXPECT_EQ(Snapshot(tree.Beside("out")), Snapshot(tree.root())) << i;
    ASSERT_TRUE(sys::RemoveTree(tree.Beside("out")).ok());
    ASSERT_EQ(unlink(tree.Beside("a").c_str()), 0);
  }
}

TEST(Archive, AWriterThatNeverStopsIsNamed) {
  TestTree tree;
  tree.Write("a", std::string(32 << 20, 'x'));  // so long that even a busy machine runs the writer
  tree.Write("train.log", "x");
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    sys::ScopedFd fd = sys::Open(tree.At("train.log"), O_WRONLY | O_APPEND).value();
    while (!stop) {
      (void)sys::WriteAll(fd.get(), "line\n", "log");
      usleep(200);
    }
  });
  PackOptions options;
  options.retries = 2;
  Result<PackSummary> packed = PackDir(tree.root(), tree.Beside("a"), options);
  stop = true;
  writer.join();
  EXPECT_EQ(packed.code(), Code::kBusy);
  EXPECT_NE(packed.status().message().find("train.log"), std::string::npos)
      << packed.status().ToString();
  EXPECT_FALSE(sys::FileExists(tree.Beside("a")));
}

TEST(Archive, ErrorsLeaveNothing) {
  TestTree tree;
  tree.Write("a", std::string(100'000, 'x'));
  Listing listing = ListWorkdir(tree.root()).value();
  EXPECT_EQ(Pack(listing, tree.At("inside")).code(), Code::kInvalid);
  EXPECT_EQ(Pack(listing, tree.Beside("none/a")).code(), Code::kNotFound);
  ASSERT_TRUE(sys::WriteFileAtomic(tree.Beside("taken"), "mine").ok());
  EXPECT_EQ(Pack(listing, tree.Beside("taken")).code(), Code::kExists);
  EXPECT_EQ(Text(tree.Beside("taken")), "mine");
  PackOptions small;
  small.max_bytes = 10;
  tree.Write("b", "grown");
  EXPECT_EQ(Pack(listing, tree.Beside("a"), small).code(), Code::kInvalid);
  EXPECT_FALSE(sys::FileExists(tree.Beside("a")));
}

// Runs `body` as a user without special rights.
void AsNobody(const std::function<void()>& body) {
  const bool root = geteuid() == 0;
  ASSERT_TRUE(!root || seteuid(65534) == 0);
  body();
  ASSERT_TRUE(!root || seteuid(0) == 0);
}

TEST(Archive, UnreadableFilesAreNamed) {
  TestTree tree;
  ASSERT_EQ(chmod(tree.Beside("").c_str(), 0777), 0);
  tree.Write("open", "x");
  tree.Write("closed", "x", 0);
  ASSERT_TRUE(geteuid() != 0 || chown(tree.At("open").c_str(), 65534, 65534) == 0);
  AsNobody([&] {
    Result<PackSummary> packed = PackDir(tree.root(), tree.Beside("a"));
    EXPECT_EQ(packed.code(), Code::kDenied);
    EXPECT_NE(packed.status().message().find("closed"), std::string::npos);
    EXPECT_FALSE(sys::FileExists(tree.Beside("a")));
  });
  ASSERT_EQ(unlink(tree.At("closed").c_str()), 0);
  ASSERT_TRUE(sys::MakeDirs(tree.At("locked"), 0).ok());
  AsNobody([&] {
    Result<Listing> listing = ListWorkdir(tree.root());
    EXPECT_EQ(listing.code(), Code::kDenied);
    EXPECT_NE(listing.status().message().find("locked"), std::string::npos);
  });
}

// The disk is full: a limit on the size of files acts at the same call.
TEST(Archive, FullDisk) {
  TestTree tree;
  std::string noise;
  for (uint64_t i = 0; i < 100'000; ++i) noise += Sha256Hex(std::to_string(i)).substr(0, 10);
  tree.Write("noise", noise);
  ASSERT_TRUE(PackDir(tree.root(), tree.Beside("whole")).ok());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* handler = signal(SIGXFSZ, SIG_IGN);
  rlimit tight = before;
  tight.rlim_cur = 50'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  Result<PackSummary> packed = PackDir(tree.root(), tree.Beside("a"));
  Status extracted = ExtractFile(tree.Beside("whole"), tree.Beside("out"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(packed.code(), Code::kNoSpace) << packed.status().ToString();
  EXPECT_EQ(extracted.code(), Code::kNoSpace) << extracted.ToString();
  EXPECT_EQ(sys::ListDir(tree.Beside(""))->size(), 2u) << "something was left";
}

}  // namespace
}  // namespace stoker::pack
