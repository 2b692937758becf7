// SPDX-License-Identifier: Apache-2.0
// What is special to the folder; test/contract has what every store must do.
#include "store/local/local_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "base/prng.h"
#include "base/text.h"
#include "store/local/local_layout.h"
#include "store/open.h"

namespace stoker {
namespace {

class LocalStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<LocalStore> Open(bool durable = false) {
    LocalStore::Options options;
    options.durable = durable;
    return *LocalStore::Open(root_, options);
  }
  std::string Path(const std::string& relative) const { return root_ + "/" + relative; }
  void Write(const std::string& relative, const std::string& data) {
    ASSERT_TRUE(sys::WriteFileAtomic(Path(relative), data, 0644, false).ok());
  }
  std::vector<std::string> Names(const std::string& relative) const {
    std::vector<std::string> names;
    const auto entries = sys::ListDir(Path(relative));
    for (const auto& entry : entries.value()) names.push_back(entry.name);
    return names;
  }

  sys::TempDir dir_ = *sys::TempDir::Make();
  std::string root_ = dir_.path() + "/store";
  std::unique_ptr<LocalStore> store_ = Open();
};

TEST_F(LocalStoreTest, ObjectsArePlainFiles) {
  ASSERT_TRUE(store_->Put("blobs/abc", "data").ok());
  EXPECT_EQ(*sys::ReadFile(Path("blobs/abc")), "data");
  const auto created = store_->Put("records/j.json", "one", Condition::Absent());
  EXPECT_EQ(*sys::ReadFile(Path("records/j.json")), "one");
  auto version = store_->Put("records/j.json", "two", Condition::Match(*created));
  version = store_->Put("records/j.json", "three", Condition::Match(*version));
  EXPECT_EQ(Names("records"), std::vector<std::string>{"j.json.rev"});
  EXPECT_EQ(Names("records/j.json.rev"), (std::vector<std::string>{*version, "at-" + *version}));
  EXPECT_EQ(*sys::ReadFile(Path("records/j.json.rev/" + *version)), "three");
  EXPECT_EQ(Names(".tmp"), std::vector<std::string>{});
  ASSERT_TRUE(store_->Delete("records/j.json").ok());
  EXPECT_FALSE(sys::FileExists(Path("records")));
  EXPECT_EQ(Names(".tmp"), std::vector<std::string>{});
}

// Every state that a kill -9 can leave behind in the middle of a write reads as old or new, and the
// next write cleans it up.
TEST_F(LocalStoreTest, LeftoversOfDeadWritersDoNoHarm) {
  const auto created = store_->Put("r/j", "plain", Condition::Absent());
  const auto first = store_->Put("r/j", "first", Condition::Match(*created));
  // Died before removing the plain file.
  Write("r/j", "plain");
  EXPECT_EQ(store_->Get("r/j")->data, "first");
  EXPECT_EQ(store_->List("r/")->objects.size(), 1u);
  EXPECT_EQ(store_->Put("r/j", "x", Condition::Absent()).code(), Code::kExists);
  // Died between placing its data and moving the pointer.
  const std::string orphan = "000000000002-0123456789abcdef-" + first->substr(first->size() - 16);
  Write("r/j.rev/" + orphan, "torn");
  EXPECT_EQ(store_->Get("r/j")->data, "first");
  const auto second = store_->Put("r/j", "second", Condition::Match(*first));
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_EQ(Names("r/j.rev"), (std::vector<std::string>{*second, "at-" + *second}));
  EXPECT_EQ(Names("r"), std::vector<std::string>{"j.rev"});
  // Died between moving the pointer and removing what is older.
  Write("r/j.rev/" + *first, "first");
  EXPECT_EQ(store_->Get("r/j")->data, "second");
  Write("r/j", "plain");
  ASSERT_TRUE(store_->Delete("r/j").ok());
  EXPECT_EQ(store_->Get("r/j").code(), Code::kNotFound);
}

TEST_F(LocalStoreTest, SweepsOldTemporaryFilesOnly) {
  ASSERT_TRUE(store_->Put("x", "1").ok());
  Write(".tmp/1-new", "fresh");
  Write(".tmp/1-old", "stale");
  ASSERT_TRUE(sys::MakeDirs(Path(".tmp/1-grave/x")).ok());
  const struct timespec old[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, Path(".tmp/1-old").c_str(), old, 0), 0);
  ASSERT_EQ(utimensat(AT_FDCWD, Path(".tmp/1-grave").c_str(), old, 0), 0);
  for (int i = 0; i < 500 && Names(".tmp").size() > 1; ++i) Open();  // one in 16 sweeps
  EXPECT_EQ(Names(".tmp"), std::vector<std::string>{"1-new"});
}

TEST_F(LocalStoreTest, ForeignThingsAreNoObjects) {
  ASSERT_TRUE(store_->Put("a/x", "1").ok());
  ASSERT_EQ(mkfifo(Path("a/pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/etc/passwd", Path("a/link").c_str()), 0);
  Write("a/.tmp-1", "of another program");
  Write("a/y.rev", "a file where a folder is expected");
  for (const char* key : {"a", "a/pipe", "a/link", "a/y"}) {
    EXPECT_EQ(store_->Get(key).code(), Code::kNotFound) << key;
    EXPECT_EQ(store_->Head(key).code(), Code::kNotFound) << key;
  }
  EXPECT_EQ(store_->List("")->objects.size(), 1u);
  for (const char* key : {"a/z.rev", "a.rev/x", ".tmp/x", ".tmpx"}) {
    EXPECT_EQ(store_->Put(key, "x").code(), Code::kInvalid) << key;
  }
  const auto below = store_->Put("a/x/below", "x");
  EXPECT_EQ(below.code(), Code::kInvalid);
  EXPECT_EQ(store_->Put("a", "x").code(), Code::kInvalid);
  EXPECT_EQ(store_->Put("a", "x", Condition::Absent()).code(), Code::kInvalid);
}

// Below jobs/ lie files of users: no name is taken there, and none is anybody else's.
TEST_F(LocalStoreTest, TakesEveryNameBelowJobs) {
  const std::string root = "jobs/j/artifacts/";
  const std::vector<std::string> names = {".tmp",
                                          ".tmpfile",
                                          "model",
                                          "model.rev",
                                          "a.rev/b.rev",
                                          "a",
                                          "b.rev/at-1",
                                          "b.rev/unborn",
                                          "b",
                                          std::string(255, 'l'),
                                          std::string(251, 'r') + ".rev",
                                          "\xff\n\x01"};
  for (const std::string& name : names) {
    const auto put = store_->Put(root + name, name, Condition::Absent());
    ASSERT_TRUE(put.ok()) << put.status().ToString();
    ASSERT_TRUE(store_->Put(root + name, name).ok()) << name;
    EXPECT_EQ(*sys::ReadFile(Path(root + name)), name) << "a file of this very name";
    EXPECT_EQ(store_->Put(root + name, "x", Condition::Match(*put)).code(), Code::kInvalid);
  }
  std::set<std::string> listed;
  ASSERT_TRUE(ListAll(*store_, "", [&](const ObjectInfo& info) {
                listed.insert(info.key.substr(root.size()));
                return Status::Ok();
              }).ok());
  EXPECT_EQ(listed, std::set<std::string>(names.begin(), names.end()));
  ASSERT_TRUE(store_->Delete(root + "b").ok());
  ASSERT_TRUE(store_->Delete(root + "model").ok());
  for (const std::string& name : names) {
    const bool deleted = name == "b" || name == "model";
    EXPECT_EQ(store_->Get(root + name).code(), deleted ? Code::kNotFound : Code::kOk) << name;
    EXPECT_EQ(store_->Head(root + name).code(), deleted ? Code::kNotFound : Code::kOk) << name;
  }
}

TEST_F(LocalStoreTest, SaysWhatIsWrongWithTheFolder) {
  Write("file", "x");
  const auto on_file = LocalStore::Open(Path("file"));
  EXPECT_EQ(on_file.code(), Code::kInvalid);
  EXPECT_FALSE(on_file.status().next().empty());
  const auto below_file = LocalStore::Open(Path("file/deeper"));
  ASSERT_FALSE(below_file.ok());
  EXPECT_FALSE(below_file.status().next().empty());
  const auto unwritable = LocalStore::Open("/proc/stoker");
  ASSERT_FALSE(unwritable.ok());
  EXPECT_NE(unwritable.status().message().find("/proc/stoker"), std::string::npos);
  EXPECT_EQ(LocalStore::Open("relative").code(), Code::kInvalid);
  EXPECT_EQ(OpenStore("s3://bucket/../x").code(), Code::kInvalid);
  EXPECT_EQ((*OpenStore("s3://bucket/team/"))->url(), "s3://bucket/team");
  EXPECT_EQ((*OpenStore("gs://bucket/team/"))->url(), "gs://bucket/team");
  EXPECT_EQ(OpenStore("gs://BUCKET/team").code(), Code::kInvalid);
  EXPECT_EQ(OpenStore("ftp://x").code(), Code::kInvalid);
  EXPECT_EQ(OpenStore("").code(), Code::kInvalid);
  EXPECT_EQ((*OpenStore("file://" + root_ + "/"))->url(), root_);
}

TEST_F(LocalStoreTest, TwoMayMakeItAtOnce) {
  constexpr int kTimes = 300;
  std::atomic<int> ready{0};
  const auto open_all = [&] {
    for (int i = 0; i < kTimes; ++i) {
      ++ready;
      while (ready < 2 * (i + 1)) std::this_thread::yield();
      const auto store = LocalStore::Open(Path("new-" + std::to_string(i)), {});
      EXPECT_TRUE(store.ok()) << store.status().ToString();
    }
  };
  std::thread other(open_all);
  open_all();
  other.join();
}

TEST_F(LocalStoreTest, UnwritableStoreIsDeniedWithAdvice) {
  if (geteuid() != 0) {
    ASSERT_EQ(chmod(root_.c_str(), 0500), 0);
    const auto put = store_->Put("x", "1");
    EXPECT_EQ(put.code(), Code::kDenied);
    EXPECT_NE(put.status().next().find(root_), std::string::npos);
    return;
  }
  // Rights do not stop root: in a child, another user.
  ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(root_.c_str(), 0755), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(2);
    const auto put = store_->Put("x", "1");
    const bool right =
        put.code() == Code::kDenied && put.status().next().find(root_) != std::string::npos;
    _exit(right && store_->List("").ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A limit on file sizes stands for a full disk: the same path, without a file system of our own.
TEST_F(LocalStoreTest, FullDiskKeepsTheOldValue) {
  ASSERT_TRUE(store_->Put("x", "old").ok());
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &small);
    const auto put = store_->Put("x", std::string(5000, 'n'));
    const bool right =
        put.code() == Code::kNoSpace && put.status().next().find(root_) != std::string::npos;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(store_->Get("x")->data, "old");
  EXPECT_EQ(Names(".tmp"), std::vector<std::string>{});
}

// Died before it moved the pointer for the first time.
TEST_F(LocalStoreTest, UnbornRevisionsLeaveThePlainForm) {
  const auto version = store_->Put("r/j", "plain");
  ASSERT_TRUE(sys::MakeDirs(Path("r/j.rev")).ok());
  Write("r/j.rev/unborn", "");
  Write("r/j.rev/000000000001-0123456789abcdef-0123456789abcdef", "torn");
  EXPECT_EQ(store_->Get("r/j").value().data, "plain");
  EXPECT_EQ(store_->List("").value().objects.size(), 1u);
  EXPECT_EQ(store_->Put("r/j", "x", Condition::Absent()).code(), Code::kExists);
  const auto first = store_->Put("r/j", "first", Condition::Match(*version));
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ(Names("r"), std::vector<std::string>{"j.rev"});
  EXPECT_EQ(Names("r/j.rev"), (std::vector<std::string>{*first, "at-" + *first}));
  // And without a plain form there is no object.
  ASSERT_TRUE(sys::MakeDirs(Path("r/k.rev")).ok());
  Write("r/k.rev/unborn", "");
  EXPECT_EQ(store_->Get("r/k").code(), Code::kNotFound);
  EXPECT_EQ(store_->Put("r/k", "x", Condition::Match(*version)).code(), Code::kNotFound);
  ASSERT_TRUE(store_->Put("r/k", "new", Condition::Absent()).ok());
  EXPECT_EQ(store_->Get("r/k").value().data, "new");
  ASSERT_TRUE(store_->Put("r/k", "any").ok());
  EXPECT_EQ(store_->Get("r/k").value().data, "any");
}

TEST_F(LocalStoreTest, StopsAtARevFolderWithoutPointer) {
  ASSERT_TRUE(sys::MakeDirs(Path("r/j.rev")).ok());
  Write("r/j.rev/000000000001-0123456789abcdef-0123456789abcdef", "x");
  const auto object = store_->Get("r/j");
  EXPECT_EQ(object.code(), Code::kCorrupt);
  EXPECT_NE(object.status().message().find("r/j.rev"), std::string::npos);
  // One damaged object costs one object.
  ASSERT_TRUE(store_->Put("r/k", "x").ok());
  const auto listing = store_->List("r/");
  ASSERT_TRUE(listing.ok()) << listing.status().ToString();
  ASSERT_EQ(listing->objects.size(), 2u);
  EXPECT_EQ(listing->objects[0].key, "r/j");
}

TEST_F(LocalStoreTest, APipeAmongTheRevisionsHangsNobody) {
  const auto first = store_->Put("r/k", "1", Condition::Absent());
  const auto second = store_->Put("r/k", "2", Condition::Match(*first));
  ASSERT_TRUE(second.ok());
  const std::string file = Path("r/k.rev/" + *second);
  ASSERT_EQ(unlink(file.c_str()), 0);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  const auto object = store_->Get("r/k");
  EXPECT_EQ(object.code(), Code::kCorrupt);
  EXPECT_NE(object.status().message().find(*second), std::string::npos);
  EXPECT_FALSE(object.status().next().empty());
}

TEST_F(LocalStoreTest, FilesAreForThoseWhoMayWriteInTheRoot) {
  const mode_t before = umask(0);
  const auto modes = [&](mode_t root) {
    EXPECT_EQ(chmod(root_.c_str(), root), 0);
    store_ = Open();
    const std::string name = "of-" + std::to_string(root);
    EXPECT_TRUE(store_->Put(name + "/k", "x").ok());
    struct stat folder = {}, file = {};
    EXPECT_EQ(stat(Path(name).c_str(), &folder), 0);
    EXPECT_EQ(stat(Path(name + "/k").c_str(), &file), 0);
    return std::pair{folder.st_mode & 0777, file.st_mode & 0777};
  };
  EXPECT_EQ(modes(0755), (std::pair<mode_t, mode_t>(0700, 0600)));
  EXPECT_EQ(modes(0770), (std::pair<mode_t, mode_t>(0770, 0660)));
  EXPECT_EQ(modes(0777), (std::pair<mode_t, mode_t>(0777, 0666)));
  umask(before);
}

TEST(LocalLayout, NamesRoundTrip) {
  Prng prng(3);
  for (const int64_t number : {int64_t{1}, int64_t{999'999'999'999}, int64_t{1'000'000'000'000}}) {
    const local::Revision revision{number, Hex64(prng.Next()), Hex64(prng.Next())};
    const auto back = local::ParsePointer(revision.Pointer());
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->Name(), revision.Name());
    EXPECT_FALSE(local::ParseRevision(revision.Pointer()).has_value());
    EXPECT_FALSE(local::ParseRevision(revision.Name() + "0").has_value() &&
                 local::ParseRevision(revision.Name() + "0")->Name() == revision.Name());
  }
  for (const char* bad : {"", "at-", "1-2-3", "000000000000-0123456789abcdef-0123456789abcdef"}) {
    EXPECT_FALSE(local::ParseRevision(bad).has_value()) << bad;
  }
}

double MsOf(const std::function<void()>& what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// Numbers for people; what is asserted is a ratio, which a slow or busy machine does not change.
TEST_F(LocalStoreTest, ListingCostsLessThanWriting) {
  const std::string data(1024, 'x');
  const double put = MsOf([&] {
    for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(store_->Put("l/" + Padded(i, 6), data).ok());
  });
  size_t count = 0;
  const double list = MsOf([&] {
    ASSERT_TRUE(ListAll(*store_, "l/", [&](const ObjectInfo&) {
                  ++count;
                  return Status::Ok();
                }).ok());
  });
  EXPECT_EQ(count, 10'000u);
  auto version = store_->Put("r", data);
  const double match = MsOf([&] {
    for (int i = 0; i < 1000; ++i) version = store_->Put("r", data, Condition::Match(*version));
  });
  EXPECT_TRUE(version.ok());
  const auto durable = Open(true);
  const double synced = MsOf([&] {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(durable->Put("s/" + Padded(i, 6), data).ok());
  });
  std::printf("put 1 KiB %.3f ms, durable %.2f ms; match %.3f ms; list of 10,000 %.1f ms\n",
              put / 10'000, synced / 20, match / 1000, list);
  EXPECT_LT(list, put);
}

}  // namespace
}  // namespace stoker
