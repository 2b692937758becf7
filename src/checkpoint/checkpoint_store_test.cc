// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_store.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "checkpoint/moment.h"
#include "checkpoint/restore.h"
#include "ledger/paths.h"
#include "test/checkpoint/fake_files.h"
#include "test/checkpoint/threads.h"
#include "test/contract/momentary.h"
#include "test/kit/counted.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"

namespace stoker::test {
namespace {

constexpr char kStoreJob[] = "job";
const std::string kRoot = "jobs/job/checkpoints/";

ManifestFile Stored(ObjectStore& store, const std::string& path, const std::string& bytes,
                    const std::string& object) {
  EXPECT_TRUE(store.Put(kRoot + object, bytes).ok());
  ManifestFile file;
  file.path = path;
  file.size = static_cast<int64_t>(bytes.size());
  file.sha256 = Sha256Hex(bytes);
  file.object = object;
  return file;
}

void Commit(ObjectStore& store, const CheckpointId& id, const std::vector<Part>& parts) {
  Manifest manifest;
  manifest.job = kStoreJob;
  manifest.id = id;
  manifest.parts = parts;
  ASSERT_TRUE(store.Put(ManifestKey(kStoreJob, id), EncodeManifest(manifest)).ok());
}

void CommitOne(ObjectStore& store, const CheckpointId& id, const std::string& bytes) {
  Part part;
  part.files.push_back(Stored(store, "checkpoint.pt", bytes, DataFolder(id, 0) + "checkpoint.pt"));
  Commit(store, id, {part});
}

std::string NewestId(ObjectStore& store, const std::set<std::string>& suspects = {}) {
  auto newest = NewestCheckpoint(store, kStoreJob, suspects);
  EXPECT_TRUE(newest.ok());
  return newest.ok() && newest->has_value() ? (*newest)->id : "";
}

TEST(Checkpoints, TheHighestAttemptWinsThenTheHighestNumber) {
  MemoryStore store;
  EXPECT_EQ(NewestId(store), "");
  CommitOne(store, {1, 9}, "a");
  CommitOne(store, {1, 10}, "b");
  EXPECT_EQ(NewestId(store), "1-10");
  CommitOne(store, {2, 1}, "c");
  EXPECT_EQ(NewestId(store), "2-1");
  EXPECT_EQ(NewestId(store, {"2-1"}), "1-10");
  EXPECT_EQ(NewestId(store, {"2-1", "1-10", "1-9"}), "");
}

TEST(Checkpoints, DamagedOnesAreSteppedOver) {
  MemoryStore store;
  CommitOne(store, {1, 1}, "good");
  CommitOne(store, {1, 2}, "gone");
  ASSERT_TRUE(store.Delete(kRoot + "data/1-0-2/checkpoint.pt").ok());
  CommitOne(store, {1, 3}, "short");
  ASSERT_TRUE(store.Put(kRoot + "data/1-0-3/checkpoint.pt", "sh").ok());
  ASSERT_TRUE(store.Put(ManifestKey(kStoreJob, {1, 4}), "{not json").ok());
  ASSERT_TRUE(store.Put(ManifestKey(kStoreJob, {1, 5}), "{\"format\": 99}").ok());
  EXPECT_EQ(NewestId(store), "1-1");
  auto all = ListCheckpoints(store, kStoreJob);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 5u);
  for (const CheckpointInfo& info : *all) EXPECT_EQ(info.whole, info.id == "1-1") << info.why_not;
}

// Over plain HTTP: what is stored is whole, and an attempt must not begin at step 0.
TEST(Checkpoints, WhatIsDamagedOnItsWayIsStillWhole) {
  MemoryStore memory;
  CommitOne(memory, {1, 1}, "good");
  CommitOne(memory, {1, 2}, "newer");
  MomentaryStore store(memory);
  const auto whole = [&] {
    std::string ids;
    const auto all = ListCheckpoints(store, kStoreJob);
    for (const CheckpointInfo& info : *all) ids += (info.whole ? info.id : "damaged") + " ";
    return ids;
  };
  store.DamageGets("manifests/", 1, [](std::string* text) { (*text)[3] = '!'; });
  EXPECT_EQ(whole(), "1-2 1-1 ");
  store.DamageGets("manifests/", 1, [](std::string* text) {
    const size_t at = text->find("\"1-2\"");
    if (at != std::string::npos) (*text)[at + 3] = '7';
  });
  EXPECT_EQ(whole(), "1-2 1-1 ");
  store.CutLists("manifests/", 1);
  EXPECT_EQ(whole(), "1-2 1-1 ");
  // A file that a list does not show, or with another size, is asked for by itself.
  store.CutLists("data/", 9);
  EXPECT_EQ(whole(), "1-2 1-1 ");
}

// Something happens right after each list of manifests.
class BusyStore : public ForwardingStore {
 public:
  BusyStore(ObjectStore& inner, std::function<void(Listing*)> then)
      : ForwardingStore(inner), traits_(inner.traits()), then_(std::move(then)) {
    traits_.requests_are_free = false;
  }
  const StoreTraits& traits() const override { return traits_; }
  Result<Listing> List(const std::string& prefix, const std::string& after, int limit) override {
    auto listing = ForwardingStore::List(prefix, after, limit);
    if (listing.ok() && prefix == ManifestsPrefix(kStoreJob)) then_(&*listing);
    return listing;
  }

 private:
  StoreTraits traits_;
  std::function<void(Listing*)> then_;
};

TEST(Checkpoints, AreListedWhileTheJobCommitsAsOftenAsTheStoreLists) {
  MemoryStore memory;
  CommitOne(memory, {1, 1}, "1");
  CommitOne(memory, {1, 2}, "2");
  int64_t last = 2;
  BusyStore store(memory, [&](Listing*) {
    ++last;
    CommitOne(memory, {1, last}, std::to_string(last));
    ASSERT_TRUE(RetainCheckpoints(memory, kStoreJob, {1, 2, {}, {}}).ok());
  });
  const auto all = ListCheckpoints(store, kStoreJob);
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  // Four lists, the last of 1-4 and 1-5, of which one was cleared away before it was looked at.
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->front().id, "1-5");
  EXPECT_TRUE(all->front().whole) << all->front().why_not;
}

TEST(Checkpoints, AreNotListedWhereEachListLeavesOutAnother) {
  MemoryStore memory;
  for (int64_t seq = 1; seq <= 5; ++seq) CommitOne(memory, {1, seq}, "bytes");
  size_t lists = 0;
  BusyStore store(memory, [&](Listing* listing) {
    listing->objects.erase(listing->objects.begin() + static_cast<std::ptrdiff_t>(lists++ % 5));
  });
  const auto all = ListCheckpoints(store, kStoreJob);
  EXPECT_TRUE(all.status().Is(Code::kUnavailable)) << all.status().ToString();
}

TEST(Checkpoints, RestoreChecksEveryByteAndNamesTheFile) {
  MemoryStore store;
  CommitOne(store, {1, 1}, "good bytes");
  ASSERT_TRUE(store.Put(kRoot + "data/1-0-1/checkpoint.pt", "bad! bytes").ok());
  FakeDirectory directory;
  const Status status = RestoreCheckpoint(store, kStoreJob, "1-1", 0, directory);
  EXPECT_TRUE(status.Is(Code::kCorrupt));
  EXPECT_NE(status.message().find("checkpoint.pt"), std::string::npos);
  EXPECT_TRUE(directory.files.empty());
}

TEST(Checkpoints, OnlyWhatIsWrongWithTheCheckpointBlamesIt) {
  MemoryStore store;
  CommitOne(store, {1, 1}, "bytes");
  FakeDirectory directory;
  // Seed 12835 of the simulator: one by one, all checkpoints were given up for want of room.
  directory.full = true;
  const Status full = RestoreCheckpoint(store, kStoreJob, "1-1", 0, directory);
  EXPECT_EQ(full.code(), Code::kNoSpace);
  EXPECT_FALSE(BlamesCheckpoint(full));
  directory.full = false;
  const Status none = RestoreCheckpoint(store, kStoreJob, "1-2", 0, directory);
  EXPECT_TRUE(BlamesCheckpoint(none)) << none.ToString();
  for (const Code code : {Code::kUnavailable, Code::kTimeout, Code::kBusy, Code::kDenied}) {
    EXPECT_FALSE(BlamesCheckpoint(Status(code, "x")));
  }
  EXPECT_TRUE(BlamesCheckpoint(Status(Code::kCorrupt, "x")));
}

TEST(Checkpoints, RestoreMakesTheDirectoryEqual) {
  MemoryStore store;
  CommitOne(store, {1, 1}, "new");
  FakeDirectory directory;
  directory.files = {{"checkpoint.pt", "old"}, {"left-over", "x"}};
  ASSERT_TRUE(RestoreCheckpoint(store, kStoreJob, "1-1", 0, directory).ok());
  EXPECT_EQ(directory.files, (std::map<std::string, std::string>{{"checkpoint.pt", "new"}}));
  directory.files["mine"] = "x";
  ASSERT_TRUE(DownloadCheckpoint(store, kStoreJob, "1-1", 0, directory).ok());
  EXPECT_EQ(directory.files.count("mine"), 1u);
}

TEST(Checkpoints, WhatLayThereStaysUntilAllHasCome) {
  MemoryStore store;
  CommitOne(store, {1, 1}, "new");
  FakeDirectory directory;
  directory.files = {{"checkpoint.pt", "old"}, {"left-over", "x"}};
  const auto before = directory.files;
  const std::string key = paths::Checkpoints(kStoreJob) + "data/1-0-1/checkpoint.pt";
  const Object whole = *store.Get(key);
  ASSERT_TRUE(store.Delete(key).ok());
  EXPECT_FALSE(RestoreCheckpoint(store, kStoreJob, "1-1", 0, directory).ok());
  for (const auto& [path, text] : before) EXPECT_EQ(directory.files[path], text);
  ASSERT_TRUE(store.Put(key, whole.data).ok());
  // Of several nodes that restore into one directory none takes away what comes for another.
  directory.files[RestoringFolder(1) + "/0"] = "another's";
  ASSERT_TRUE(RestoreCheckpoint(store, kStoreJob, "1-1", 0, directory).ok());
  EXPECT_EQ(directory.files,
            (std::map<std::string, std::string>{{"checkpoint.pt", "new"},
                                                {RestoringFolder(1) + "/0", "another's"}}));
}

TEST(Checkpoints, WhatIsTakenAwayWhileItIsRestoredIsNoFaultOfTheCheckpoint) {
  struct Taken : FakeDirectory {
    Status Rename(const std::string& from, const std::string& to, bool newer) override {
      files.clear();
      return FakeDirectory::Rename(from, to, newer);
    }
  };
  struct Gone : FakeDirectory {
    Result<std::unique_ptr<NewFile>> Create(const std::string& path) override {
      return Status(Code::kNotFound, "there is no folder for " + path);
    }
  };
  MemoryStore store;
  CommitOne(store, {1, 1}, "new");
  Taken taken;
  Gone gone;
  for (FakeDirectory* directory :
       {static_cast<FakeDirectory*>(&taken), static_cast<FakeDirectory*>(&gone)}) {
    const Status status = RestoreCheckpoint(store, kStoreJob, "1-1", 0, *directory);
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
    EXPECT_FALSE(BlamesCheckpoint(status));
  }
}

TEST(Checkpoints, WhichRestoreWasCutShort) {
  EXPECT_TRUE(IsCutRestore(".stoker-restoring", 0, 2)) << "an older stoker's";
  EXPECT_TRUE(IsCutRestore(RestoringFolder(1), 1, 2)) << "its own";
  EXPECT_TRUE(IsCutRestore(RestoringFolder(1) + "-", 1, 2));
  EXPECT_FALSE(IsCutRestore(RestoringFolder(0), 1, 2)) << "of another node, which may be at it";
  EXPECT_TRUE(IsCutRestore(RestoringFolder(2), 1, 2)) << "there is none of that rank";
  EXPECT_FALSE(IsCutRestore(".stoker-restoring-mine", 0, 1));
  EXPECT_FALSE(IsCutRestore("step-1", 0, 1));
}

TEST(Checkpoints, EachNodeGetsTheUnionWithItsOwnFirst) {
  MemoryStore store;
  Part zero;
  zero.files = {Stored(store, "rng.pt", "rng 0", "data/1-0-1/rng.pt"),
                Stored(store, "shard-0", "s0", "data/1-0-1/shard-0"),
                Stored(store, "shard-1", "stale", "data/1-0-1/shard-1")};
  zero.files[2].restored = true;
  Part one;
  one.rank = 1;
  one.files = {Stored(store, "rng.pt", "rng 1", "data/1-1-1/rng.pt"),
               Stored(store, "shard-1", "s1", "data/1-1-1/shard-1")};
  Part two;
  two.rank = 2;
  two.none = true;
  Commit(store, {1, 1}, {zero, one, two});
  for (int rank = 0; rank < 3; ++rank) {
    FakeDirectory directory;
    ASSERT_TRUE(RestoreCheckpoint(store, kStoreJob, "1-1", rank, directory).ok());
    EXPECT_EQ(directory.files["shard-0"], "s0");
    EXPECT_EQ(directory.files["shard-1"], "s1");
    EXPECT_EQ(directory.files["rng.pt"], rank == 1 ? "rng 1" : "rng 0");
  }
}

// Seed 598255: every node restored what rank 0 had written; rank 0 wrote the same bytes once more.
TEST(Checkpoints, WhatGivesEveryNodeTheSameIsTheSameContent) {
  const auto file = [](const std::string& path, const std::string& sha256, bool restored) {
    ManifestFile made;
    made.path = path;
    made.sha256 = sha256;
    made.restored = restored;
    return made;
  };
  Manifest first;
  first.parts.resize(2);
  first.parts[0].files = {file("model.pt", "aa", false)};
  first.parts[1].rank = 1;
  first.parts[1].none = true;
  Manifest again;
  again.parts = first.parts;
  again.parts[1].none = false;
  again.parts[1].files = {file("model.pt", "aa", true)};
  EXPECT_EQ(ContentOf(first), ContentOf(again));
  again.parts[1].files[0].sha256 = "old";  // rank 0's counts: it was written, this one was not
  EXPECT_EQ(ContentOf(first), ContentOf(again));
  again.parts[1].files[0].restored = false;  // node 1 has one of its own
  EXPECT_NE(ContentOf(first), ContentOf(again));
  again.parts[1].files.clear();
  again.parts[0].files[0].sha256 = "bb";
  EXPECT_NE(ContentOf(first), ContentOf(again));
  again.parts[0].files = {file("model.pt", "aa", false), file("optim.pt", "bb", false)};
  EXPECT_NE(ContentOf(first), ContentOf(again));
}

// As they were saved: a program that looks for the newest finds the newest.
TEST(Checkpoints, RestoreGivesNamesLastInTheOrderOfTheirTimes) {
  MemoryStore store;
  const auto file = [&](const std::string& path, int64_t changed) {
    ManifestFile out = Stored(store, path, path + "'s", "data/1-0-1/" + path);
    out.ctime_ns = changed;
    out.mtime_ns = 7'000'000'123;
    return out;
  };
  const auto other_kind = [](const std::string& path, FileKind kind, int64_t changed) {
    ManifestFile out;
    out.path = path;
    out.kind = kind;
    out.target = "b";
    out.ctime_ns = changed;
    return out;
  };
  Part part;
  part.files = {file("a", 50),    file("b", 20),
                file("c", 20),    other_kind("d", FileKind::kLink, 30),
                file("last", 50), file("no-link", 60)};
  part.files[4].same_as = "a";
  part.files[4].sha256 = part.files[0].sha256;
  part.files[4].size = part.files[0].size;
  part.files[5].same_as = "b";  // by a list that is wrong
  Commit(store, {1, 1}, {part});
  FakeDirectory directory;
  directory.files["stranger"] = "x";
  ASSERT_TRUE(RestoreCheckpoint(store, kStoreJob, "1-1", 0, directory).ok());
  EXPECT_EQ(directory.named, (std::vector<std::string>{"b", "c", "d", "a+", "last", "no-link+"}));
  EXPECT_EQ(directory.files, (std::map<std::string, std::string>{{"a", "a's"},
                                                                 {"b", "b's"},
                                                                 {"c", "c's"},
                                                                 {"d", "-> b"},
                                                                 {"last", "= a"},
                                                                 {"no-link", "no-link's"}}));
  FakeDirectory without;
  without.links = false;
  part.files[4].object = part.files[0].object;
  Commit(store, {1, 1}, {part});
  ASSERT_TRUE(RestoreCheckpoint(store, kStoreJob, "1-1", 0, without).ok());
  EXPECT_EQ(without.files.at("last"), "a's");
  FakeDirectory beside;
  beside.files["stranger"] = "x";
  ASSERT_TRUE(DownloadCheckpoint(store, kStoreJob, "1-1", 0, beside).ok());
  EXPECT_EQ(beside.files.size(), 7u);
}

TEST(Checkpoints, AnOlderManifestIsReadAndANewerOneTellsOlderStokersEnough) {
  Manifest manifest;
  manifest.job = kStoreJob;
  manifest.id = {1, 1};
  manifest.parts.resize(1);
  ManifestFile& file = manifest.parts[0].files.emplace_back();
  file.path = "last";
  file.sha256 = Sha256Hex("");
  file.object = "data/1-0-1/last";
  file.mtime_ns = 1'234'567'890;
  file.ctime_ns = 2'000'000'001;
  file.same_as = "odd\xff";
  const std::string text = EncodeManifest(manifest);
  const auto read = DecodeManifest(text);
  ASSERT_TRUE(read.ok());
  const ManifestFile& back = read->parts[0].files[0];
  EXPECT_EQ(back.mtime_ns, file.mtime_ns);
  EXPECT_EQ(back.ctime_ns, file.ctime_ns);
  EXPECT_EQ(back.same_as, file.same_as);
  // What these know of: a file of its own, with a time in milliseconds, under the same format.
  EXPECT_NE(text.find("\"format\": 1"), std::string::npos);
  EXPECT_NE(text.find("\"mtime_ms\": 1234,"), std::string::npos);
  EXPECT_NE(text.find("\"object\": \"data/1-0-1/last\""), std::string::npos);
  std::string old = text;
  for (const char* name : {"mtime_ns", "ctime_ns", "same_as", "same_as_encoded"}) {
    const size_t at = old.find("\"" + std::string(name) + "\"");
    ASSERT_NE(at, std::string::npos);
    old.replace(at + 1, std::string(name).size(), "x" + std::string(name));
  }
  const auto of_today = DecodeManifest(old);
  ASSERT_TRUE(of_today.ok());
  EXPECT_EQ(of_today->parts[0].files[0].mtime_ns, 1'234'000'000);
  EXPECT_EQ(of_today->parts[0].files[0].same_as, "");
}

TEST(Checkpoints, SeveralNamesOfOneFileAreThatInTheManifest) {
  Moment moment;
  const auto add = [&](const std::string& path, uint64_t ino, int64_t changed) {
    auto file = std::make_shared<StagedFile>();
    file->fact.path = path;
    file->fact.ino = ino;
    file->fact.mtime_ns = changed;
    file->sha256 = "same";
    moment.files[path] = std::move(file);
  };
  add("best", 7, 1);
  add("copy", 8, 1);
  add("last", 7, 1);
  add("later", 7, 2);  // the inode was used again
  const Part part = PartOf(moment, 0);
  std::vector<std::string> same;
  for (const ManifestFile& file : part.files) same.push_back(file.same_as);
  EXPECT_EQ(same, (std::vector<std::string>{"", "", "best", ""}));
}

// Each name is looked at once: what it costs does not grow with its folders.
TEST(Checkpoints, NamesOfManyFoldersAreListed) {
  Manifest manifest;
  manifest.parts.resize(1);
  std::string deep = "a";
  for (int i = 0; i < 500'000; ++i) deep += "/a";
  for (const std::string& path : {std::string("a-b"), deep + "/b", deep, std::string("b")}) {
    manifest.parts[0].files.emplace_back().path = path;
  }
  const std::vector<ManifestFile> files = UnionFor(manifest, 0);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].path, "a-b");
  EXPECT_EQ(files[1].path, deep);
  EXPECT_EQ(files[2].path, "b");
}

TEST(Checkpoints, HostileManifestsAreRefused) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {R"("path": "a")", R"("path": "../a")"},
      {R"("path": "a")", R"("path": "/etc/passwd")"},
      {R"("created": "1970)", R"("created": "197O)"},
      {R"("bytes": 0)", R"("bytes": 1e22)"},
      {R"("bytes": 0)", R"("bytes": -1)"},
      {R"("step": -1)", R"("step": 1.5)"},
      {R"("rank": 0)", R"("rank": 4294967296)"},
      {R"("mode": 420)", R"("mode": 1e30)"},
      {R"("mtime_ms": 0)", R"("mtime_ms": 18446744073709551615)"},
      {R"("format": 1)", R"("format": -1)"},
      {R"("object": "data/1-0-1/a")", R"("object": "../../other/secret")"},
      {R"("size": 1)", R"("size": -1)"},
  };
  Part part;
  MemoryStore store;
  part.files.push_back(Stored(store, "a", "x", "data/1-0-1/a"));
  Manifest manifest;
  manifest.job = kStoreJob;
  manifest.id = {1, 1};
  manifest.parts = {part};
  const std::string good = EncodeManifest(manifest);
  ASSERT_TRUE(DecodeManifest(good).ok());
  for (const auto& [from, to] : bad) {
    std::string text = good;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    EXPECT_EQ(DecodeManifest(text).code(), Code::kCorrupt) << to;
  }
  ManifestFile link;
  link.path = "sub/link";
  link.kind = FileKind::kLink;
  for (const char* target : {"../../outside", "/etc", ""}) {
    link.target = target;
    manifest.parts.front().files = {link};
    EXPECT_EQ(DecodeManifest(EncodeManifest(manifest)).code(), Code::kCorrupt) << target;
  }
}

TEST(Checkpoints, RetentionKeepsWhatIsNamedAndWhatIsUnderWay) {
  MemoryStore store;
  for (int64_t seq = 1; seq <= 5; ++seq) CommitOne(store, {1, seq}, std::to_string(seq));
  // 1-5 still names a file of 1-1; 1-6 is being uploaded.
  Part part;
  part.files = {Stored(store, "old.json", "{}", "data/1-0-1/old.json"),
                Stored(store, "checkpoint.pt", "5", "data/1-0-5/checkpoint.pt")};
  Commit(store, {1, 5}, {part});
  ASSERT_TRUE(store.Put(kRoot + "data/1-0-6/checkpoint.pt", "half").ok());
  for (const char* beside : {"rounds/1-3.json", "parts/1-3-1.json", "rounds/1-5.json"}) {
    ASSERT_TRUE(store.Put(kRoot + beside, "{}").ok());
  }
  CountedStore counted(store);
  ASSERT_TRUE(RetainCheckpoints(counted, kStoreJob, {1, 2, {"1-2"}, {}}).ok());
  EXPECT_EQ(counted.counts().list, 1) << "it is done after each commit";
  std::set<std::string> left;
  ASSERT_TRUE(ListAll(store, kRoot, [&](const ObjectInfo& info) {
                left.insert(info.key.substr(kRoot.size()));
                return Status::Ok();
              }).ok());
  EXPECT_EQ(left, (std::set<std::string>{"data/1-0-1/old.json", "data/1-0-2/checkpoint.pt",
                                         "data/1-0-4/checkpoint.pt", "data/1-0-5/checkpoint.pt",
                                         "data/1-0-6/checkpoint.pt", "manifests/000001-000002.json",
                                         "manifests/000001-000004.json",
                                         "manifests/000001-000005.json", "rounds/1-5.json"}));
}

TEST(CheckpointNames, WhatCannotBeOne) {
  EXPECT_EQ(ParseCheckpointId("2-14"), (CheckpointId{2, 14}));
  EXPECT_EQ(ParseCheckpointId("000002-000014"), (CheckpointId{2, 14})) << "as in keys";
  EXPECT_EQ(ParseCheckpointId("999999-999999999999999")->attempt, 999'999);
  for (const char* text :
       {"", "-", "2", "2-", "-14", "2--14", "+2-14", " 2-14", "2-14 ", "2-1e3", "1000000-1",
        "1000000000-1", "4294967297-1", "2-1000000000000000", "2-99999999999999999999"}) {
    EXPECT_FALSE(ParseCheckpointId(text)) << text;
  }
}

}  // namespace
}  // namespace stoker::test
