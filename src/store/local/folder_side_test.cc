// SPDX-License-Identifier: Apache-2.0
#include "store/local/folder_side.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "store/local/folder_files.h"
#include "store/local/folder_part.h"
#include "sys/file.h"

namespace {

// What was synced: the file as it was at that moment.
struct Synced {
  std::string path;
  int64_t size = 0;
};
std::vector<Synced> synced;

}  // namespace

// Instead of the C library's: nothing else tells whether a power cut would have been survived.
extern "C" int fsync(int fd) {
  char path[4096] = "";
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  struct stat info {};
  if (length > 0 && fstat(fd, &info) == 0) {
    synced.push_back({std::string(path, static_cast<size_t>(length)), info.st_size});
  }
  return static_cast<int>(syscall(SYS_fsync, fd));
}

namespace stoker {
namespace {

constexpr int64_t kPart = 16 << 20;

class FolderSideTest : public ::testing::Test {
 protected:
  FolderSideTest() : dir_(*sys::TempDir::Make()), root_(dir_.path() + "/side") {}
  std::unique_ptr<FolderSide> Open(const std::string& path, bool must_exist = false) {
    auto side = FolderSide::Open(path, must_exist);
    EXPECT_TRUE(side.ok()) << side.status().ToString();
    return side.ok() ? std::move(*side) : nullptr;
  }
  void Write(const std::string& path, const std::string& data) {
    ASSERT_TRUE(sys::MakeDirs(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(sys::WriteFileAtomic(path, data, 0644, false).ok());
  }
  std::map<std::string, ObjectInfo> List(FolderSide& side) {
    std::map<std::string, ObjectInfo> out;
    WallTime now;
    odd_.clear();
    EXPECT_TRUE(side.List([&](const ObjectInfo& info) { out[info.key] = info; },
                          [&](const std::string& key, const Status& why) { odd_[key] = why; }, &now)
                    .ok());
    return out;
  }
  // Of what lies in `from_` under `key`.
  std::unique_ptr<ObjectReader> Reader(const std::string& key) {
    auto reader = from_->OpenReader(List(*from_).at(key));
    EXPECT_TRUE(reader.ok()) << reader.status().ToString();
    return reader.ok() ? std::move(*reader) : nullptr;
  }

  sys::TempDir dir_;
  const std::string root_;
  std::map<std::string, Status> odd_;
  std::unique_ptr<FolderSide> from_ = Open(dir_.path() + "/from");
};

// As one that has no descriptor: what comes over a wire.
class Wire : public ObjectReader {
 public:
  explicit Wire(std::unique_ptr<ObjectReader> inner) : inner_(std::move(inner)) {}
  const ObjectInfo& info() const override { return inner_->info(); }
  bool ranged() const override { return true; }
  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    return inner_->Read(offset, size, take);
  }
  Status Confirm(const std::vector<PartSum>& parts) override { return inner_->Confirm(parts); }

 private:
  const std::unique_ptr<ObjectReader> inner_;
};

TEST_F(FolderSideTest, ListsFilesAndNamesTheRest) {
  const std::string from = dir_.path() + "/from";
  Write(from + "/a/b/c", "x");
  Write(from + "/d", "");
  Write(from + "/" + folder::PartName("e"), "half");
  ASSERT_EQ(symlink("a/b/c", (from + "/inside").c_str()), 0);
  ASSERT_EQ(symlink("a", (from + "/folder").c_str()), 0);
  ASSERT_EQ(symlink("../outside", (from + "/out").c_str()), 0);
  Write(dir_.path() + "/outside", "secret");
  ASSERT_EQ(symlink("nothing", (from + "/dangling").c_str()), 0);
  ASSERT_EQ(mkfifo((from + "/pipe").c_str(), 0600), 0);
  const auto files = List(*from_);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files.at("a/b/c").size, 1);
  EXPECT_EQ(files.count("d") + files.count("inside"), 2u);
  ASSERT_EQ(odd_.size(), 4u);
  for (const char* key : {"folder", "out", "dangling", "pipe"}) {
    EXPECT_EQ(odd_[key].code(), Code::kInvalid) << key;
  }
  EXPECT_TRUE(List(*Open(root_)).empty());
  EXPECT_EQ(FolderSide::Open(root_, true).code(), Code::kNotFound);
  EXPECT_EQ(List(*Open(from + "/d", true)).size(), 1u);
}

TEST_F(FolderSideTest, WritesWithTheSourcesTimeAndOverNoLink) {
  Write(dir_.path() + "/from/f", "content");
  const timespec times[2] = {{1000, 0}, {1'700'000'000, 123'000'000}};
  ASSERT_EQ(utimensat(AT_FDCWD, (dir_.path() + "/from/f").c_str(), times, 0), 0);
  const auto side = Open(root_);
  const auto put = side->PutFrom("x/y/f", *Reader("f"));
  ASSERT_TRUE(put.ok()) << put.status().ToString();
  const auto there = List(*side);
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there.at("x/y/f").version, put->version);
  EXPECT_EQ(there.at("x/y/f").last_modified.ms, 1'700'000'000'123);
  EXPECT_EQ(sys::ReadFile(root_ + "/x/y/f").value_or("?"), "content");
  ASSERT_EQ(symlink(dir_.path().c_str(), (root_ + "/way").c_str()), 0);
  EXPECT_EQ(side->PutFrom("way/f", *Reader("f")).code(), Code::kExists);
  for (const char* key : {"../f", "/f", "a/../../f", ""}) {
    EXPECT_EQ(side->PutFrom(key, *Reader("f")).code(), Code::kInvalid) << key;
  }
  EXPECT_EQ(side->PutFrom("x/y", *Reader("f")).code(), Code::kExists);
  ASSERT_EQ(symlink("/etc/hostname", (root_ + "/link").c_str()), 0);
  EXPECT_TRUE(side->PutFrom("link", *Reader("f")).ok());
  EXPECT_EQ(sys::ReadFile(root_ + "/link").value_or("?"), "content");
  EXPECT_TRUE(side->DeleteAll({"x/y/f", "nothing/there"}).empty());
  EXPECT_FALSE(sys::FileExists(root_ + "/x"));
}

TEST_F(FolderSideTest, AFileThatChangesIsNotTaken) {
  const std::string path = dir_.path() + "/from/f";
  Write(path, "before");
  const auto reader = Reader("f");
  const ObjectInfo before = reader->info();
  Write(path, "after!");
  EXPECT_TRUE(reader->Confirm({}).ok()) << "the file that was opened is what it was";
  EXPECT_EQ(from_->OpenReader(before).code(), Code::kConflict);
  const auto open = Reader("f");
  const sys::ScopedFd fd = *sys::Open(path, O_WRONLY | O_APPEND);
  ASSERT_EQ(write(fd.get(), "more", 4), 4);
  const auto side = Open(root_);
  EXPECT_EQ(side->PutFrom("f", *open).code(), Code::kConflict);
  EXPECT_TRUE(List(*side).empty());
  EXPECT_FALSE(sys::FileExists(root_ + "/" + folder::PartName("f")));
}

TEST_F(FolderSideTest, PartsAreGoneOnWith) {
  std::string data(static_cast<size_t>(2 * kPart + 5), 'a');
  for (size_t i = 0; i < data.size(); i += 4096) data[i] = static_cast<char>(i / 4096);
  Write(dir_.path() + "/from/f", data);
  const auto side = Open(root_);
  Wire wire(Reader("f"));
  auto upload = side->BeginParts("f", wire.info(), "");
  ASSERT_TRUE(upload.ok()) << upload.status().ToString();
  const std::string id = (*upload)->id();
  EXPECT_EQ(side->BeginParts("f", wire.info(), id).code(), Code::kBusy) << "somebody writes it";
  ASSERT_TRUE((*upload)->WritePart(2, wire).ok());
  const auto first = (*upload)->WritePart(0, wire);
  ASSERT_TRUE(first.ok());
  upload->reset();  // as a process that is gone
  EXPECT_TRUE(List(*side).empty());
  upload = side->BeginParts("f", wire.info(), id);
  ASSERT_TRUE(upload.ok()) << upload.status().ToString();
  ASSERT_EQ((*upload)->done().size(), 2u);
  EXPECT_EQ((*upload)->done().at(0).crc32c, first->crc32c);
  ASSERT_TRUE((*upload)->WritePart(1, wire).ok());
  const auto info = (*upload)->Commit();
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(sys::ReadFile(root_ + "/f", 1 << 30).value_or("") == data, true);
  EXPECT_EQ(List(*side).at("f").version, info->version);
  // Another id, or another size: from the beginning.
  upload = side->BeginParts("f", wire.info(), "");
  ASSERT_TRUE((*upload)->WritePart(0, wire).ok());
  const std::string second = (*upload)->id();
  upload->reset();
  ObjectInfo shorter = wire.info();
  shorter.size -= 1;
  upload = side->BeginParts("f", shorter, second);
  EXPECT_TRUE((*upload)->done().empty());
  (*upload)->Abort();
  EXPECT_FALSE(sys::FileExists(root_ + "/" + folder::PartName("f")));
}

TEST_F(FolderSideTest, LargeFilesAreOnTheDiskBeforeTheyHaveTheirNames) {
  Write(dir_.path() + "/from/small", "x");
  Write(dir_.path() + "/from/large", std::string(static_cast<size_t>(kPart + 5), 'x'));
  const auto side = Open(root_);
  synced.clear();
  ASSERT_TRUE(side->PutFrom("small", *Reader("small")).ok());
  EXPECT_TRUE(synced.empty()) << "small ones are not waited for one by one";
  const auto reader = Reader("large");
  auto upload = side->BeginParts("large", reader->info(), "");
  ASSERT_TRUE(upload.ok()) << upload.status().ToString();
  for (const int n : {1, 0}) ASSERT_TRUE((*upload)->WritePart(n, *reader).ok());
  EXPECT_TRUE(synced.empty());
  ASSERT_TRUE((*upload)->Commit().ok());
  ASSERT_EQ(synced.size(), 1u);
  EXPECT_EQ(synced[0].path, root_ + "/" + folder::PartName("large"));
  EXPECT_EQ(synced[0].size, kPart + 5);
  EXPECT_TRUE(side->Settle().ok());
  EXPECT_TRUE(Open(dir_.path() + "/nowhere")->Settle().ok());
}

TEST_F(FolderSideTest, LongNamesHaveRoomForTheirParts) {
  const std::string name(255, 'n');
  Write(dir_.path() + "/from/f", "x");
  EXPECT_TRUE(Open(root_)->PutFrom(name, *Reader("f")).ok());
  EXPECT_TRUE(sys::FileExists(root_ + "/" + name));
}

TEST_F(FolderSideTest, FilesThatEndAsPartsDoAreFiles) {
  for (const std::string& name : {std::string("f"), std::string(254, 'n'), std::string(120, '\xe9'),
                                  "\xc3" + std::string(254, '\xa9')}) {
    const std::string part = folder::PartName(name);
    EXPECT_TRUE(folder::IsPartName(part));
    EXPECT_LE(part.size(), 255u);
    EXPECT_FALSE(folder::IsPartName("x" + part)) << "renamed, it is somebody's";
  }
  EXPECT_FALSE(folder::IsPartName("f.0123456789abcdef.stoker-part"));
  EXPECT_FALSE(folder::IsPartName(".stoker-part"));
  const std::string from = dir_.path() + "/from";
  Write(from + "/f", "new");
  Write(from + "/g.stoker-part", "mine");
  const auto side = Open(root_);
  Write(root_ + "/f.stoker-part", "theirs");
  ASSERT_TRUE(side->PutFrom("f", *Reader("f")).ok());
  EXPECT_EQ(sys::ReadFile(root_ + "/f.stoker-part").value_or("?"), "theirs");
  EXPECT_EQ(List(*side).count("f.stoker-part"), 1u);
  EXPECT_EQ(List(*from_).count("g.stoker-part"), 1u);
}

TEST_F(FolderSideTest, PlacesThatLieInEachOtherAreToldWhateverTheyAreCalled) {
  const std::string from = dir_.path() + "/from";
  Write(from + "/a/f", "x");
  ASSERT_EQ(symlink(from.c_str(), (dir_.path() + "/link").c_str()), 0);
  const auto check = [&](const std::string& source, const std::string& target) {
    return Open(target)->CheckApart(*Open(source, true)).code();
  };
  EXPECT_EQ(check(from, dir_.path() + "/link"), Code::kUsage) << "the same";
  EXPECT_EQ(check(from + "/a", dir_.path() + "/link"), Code::kUsage) << "around it";
  EXPECT_EQ(check(from, dir_.path() + "/link/a"), Code::kUsage) << "in it";
  EXPECT_EQ(check(from, dir_.path() + "/link/new/folder"), Code::kUsage) << "in it, once made";
  EXPECT_EQ(check(from + "/a/f", dir_.path() + "/link"), Code::kUsage) << "one file";
  EXPECT_EQ(check(from + "/a/f", from + "/a/copies"), Code::kOk) << "one file, beside it";
  EXPECT_EQ(check(from, root_), Code::kOk);
  EXPECT_TRUE(Open(from)->Holds(dir_.path() + "/link/a"));
  EXPECT_FALSE(Open(from)->Holds(dir_.path()));
  EXPECT_FALSE(Open(root_)->Holds("/")) << "not there";
}

TEST_F(FolderSideTest, NothingIsDeletedWhereAFolderWasReplaced) {
  for (const char* at : {"/side/x/f", "/side/y/f", "/side/z/f", "/elsewhere/f"}) {
    Write(dir_.path() + at, "precious");
  }
  const auto side = Open(root_);
  ASSERT_EQ(List(*side).size(), 3u);
  const std::string elsewhere = dir_.path() + "/elsewhere";
  ASSERT_TRUE(sys::RemoveTree(root_ + "/x").ok());
  ASSERT_EQ(symlink(elsewhere.c_str(), (root_ + "/x").c_str()), 0);
  ASSERT_TRUE(sys::RemoveTree(root_ + "/y").ok());
  ASSERT_EQ(rename(elsewhere.c_str(), (root_ + "/y").c_str()), 0);
  const auto failed = side->DeleteAll({"x/f", "y/f", "z/f"});
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0].why.code(), Code::kExists);
  EXPECT_EQ(failed[1].why.code(), Code::kConflict);
  EXPECT_EQ(sys::ReadFile(root_ + "/y/f").value_or("?"), "precious");
  EXPECT_FALSE(sys::FileExists(root_ + "/z"));
}

TEST_F(FolderSideTest, NothingIsWrittenIntoAFolderOfTheSource) {
  const std::string from = dir_.path() + "/from";
  Write(from + "/a/f", "source");
  Write(from + "/f", "other");
  Write(root_ + "/a/f", "target");
  const auto side = Open(root_);
  (void)List(*from_);
  ASSERT_EQ(List(*side).size(), 1u);
  ASSERT_TRUE(side->KeepApart(*from_).ok());
  const auto reader = Reader("f");
  ASSERT_TRUE(sys::RemoveTree(root_ + "/a").ok());
  ASSERT_EQ(rename((from + "/a").c_str(), (root_ + "/a").c_str()), 0);
  EXPECT_EQ(side->PutFrom("a/f", *reader).code(), Code::kConflict);
  EXPECT_EQ(side->DeleteAll({"a/f"}).size(), 1u);
  EXPECT_EQ(sys::ReadFile(root_ + "/a/f").value_or("?"), "source");
  // Listed again, it is known.
  EXPECT_EQ(Open(root_)->KeepApart(*from_).code(), Code::kOk) << "nothing was listed";
  const auto again = Open(root_);
  (void)List(*again);
  EXPECT_EQ(again->KeepApart(*from_).code(), Code::kUsage);
}

TEST_F(FolderSideTest, WhatWasJustWrittenIsNotDeletedAsAnOldFile) {
  Write(dir_.path() + "/from/f", "new");
  Write(root_ + "/old", "old");
  const auto side = Open(root_);
  ASSERT_EQ(List(*side).size(), 1u);
  ASSERT_TRUE(side->PutFrom("f", *Reader("f")).ok());
  // As a file system does that does not tell upper from lower case.
  ASSERT_EQ(rename((root_ + "/f").c_str(), (root_ + "/old").c_str()), 0);
  const auto failed = side->DeleteAll({"old"});
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].why.code(), Code::kExists);
  EXPECT_EQ(sys::ReadFile(root_ + "/old").value_or("?"), "new");
}

TEST_F(FolderSideTest, TheExecutableBitGoesAlong) {
  const std::string from = dir_.path() + "/from";
  Write(from + "/tool", "#!");
  Write(from + "/large", std::string(static_cast<size_t>(kPart) + 1, 'l'));
  ASSERT_EQ(chmod((from + "/tool").c_str(), 0750), 0);
  ASSERT_EQ(chmod((from + "/large").c_str(), 0700), 0);
  const auto side = Open(root_);
  ASSERT_TRUE(side->PutFrom("tool", *Reader("tool")).ok());
  const auto reader = Reader("large");
  auto upload = *side->BeginParts("large", reader->info(), "");
  for (const int n : {0, 1}) ASSERT_TRUE(upload->WritePart(n, *reader).ok());
  ASSERT_TRUE(upload->Commit().ok());
  ASSERT_EQ(chmod((from + "/tool").c_str(), 0644), 0);
  ASSERT_TRUE(side->PutFrom("plain", *Reader("tool")).ok());
  auto there = List(*side);
  EXPECT_TRUE(there.at("tool").executable && there.at("large").executable);
  EXPECT_FALSE(there.at("plain").executable);
  // By itself, too.
  EXPECT_TRUE(side->SetExecutable("plain", true).value_or(false));
  EXPECT_FALSE(side->SetExecutable("plain", true).value_or(true)) << "it was so before";
  EXPECT_TRUE(side->SetExecutable("tool", false).value_or(false));
  there = List(*side);
  EXPECT_TRUE(there.at("plain").executable);
  EXPECT_FALSE(there.at("tool").executable);
}

// huggingface_hub: every file of a snapshot is a link into the blobs of its repository.
TEST_F(FolderSideTest, ASnapshotOfHuggingFacesCacheIsItsFiles) {
  const std::string repo = dir_.path() + "/models--org--name";
  Write(repo + "/blobs/deadbeef", "weights");
  Write(dir_.path() + "/elsewhere", "secret");
  ASSERT_TRUE(sys::MakeDirs(repo + "/snapshots/abc/onnx").ok());
  const std::string snapshot = repo + "/snapshots/abc";
  ASSERT_EQ(symlink("../../blobs/deadbeef", (snapshot + "/model").c_str()), 0);
  ASSERT_EQ(symlink("../../../blobs/deadbeef", (snapshot + "/onnx/model").c_str()), 0);
  ASSERT_EQ(symlink("../../../elsewhere", (snapshot + "/out").c_str()), 0);
  ASSERT_EQ(symlink("../../blobs/gone", (snapshot + "/half").c_str()), 0);
  const auto source = Open(snapshot);
  const auto files = List(*source);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(odd_.size(), 2u);
  const auto side = Open(root_);
  ASSERT_TRUE(side->PutFrom("m", **source->OpenReader(files.at("onnx/model"))).ok());
  EXPECT_EQ(sys::ReadFile(root_ + "/m").value_or("?"), "weights");
  EXPECT_EQ(List(*Open(snapshot + "/onnx")).size(), 1u);
  // What the links lead to is of the source.
  const auto blobs = Open(repo + "/blobs");
  (void)List(*blobs);
  EXPECT_EQ(blobs->KeepApart(*source).code(), Code::kUsage);
}

}  // namespace
}  // namespace stoker
