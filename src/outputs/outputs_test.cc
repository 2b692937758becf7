// SPDX-License-Identifier: Apache-2.0
// Names that a store or JSON cannot hold, and outputs that can never be kept.
#include "outputs/output_keeper.h"
#include "outputs/output_list.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "ledger/paths.h"
#include "store/forwarding.h"
#include "test/checkpoint/fake_files.h"
#include "test/checkpoint/threads.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"
#include "transfer/object_name.h"

namespace stoker::test {
namespace {

const std::string kJob = "job";

// As a service that takes no key with `odd` in it.
class Picky : public ForwardingStore {
 public:
  Picky(ObjectStore& store, std::string odd) : ForwardingStore(store), odd_(std::move(odd)) {}
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from,
                             const Condition& condition) override {
    ++asked;
    if (key.find(odd_) != std::string::npos) return Status(Code::kInvalid, "no key here");
    return ForwardingStore::PutFrom(key, from, condition);
  }
  int asked = 0;

 private:
  const std::string odd_;
};

struct Bench {
  explicit Bench(ObjectStore& store)
      : keeper(
            [] {
              OutputsConfig config;
              config.job = kJob;
              return config;
            }(),
            store, clock, {{"", &files}}) {}
  HandClock clock;
  FakeFiles files{clock};
  OutputKeeper keeper;
};

const std::vector<std::string> kNames = {
    "out/.tmpfile",      "out/model.rev",      "out/caf\xe9",      "out/caf%E9",
    "out/a\nb",          "out/tab\tb",         "out/\x01",         "out/\x7f",
    "out/\xef\xbf\xbf",  "out/\xc2\x85",       "out/odd-names/x",  "odd-names/x",
    "manifest-1-0.json", "node-1/out/x",       "out/\xed\xa0\x80", "out/ space ",
    "out/#?&+%;=",       std::string(255, 'l')};

TEST(OutputNames, ComeBackByteForByte) {
  MemoryStore store;
  Bench bench(store);
  for (const std::string& name : kNames) bench.files.Write(name, "of " + name);
  ASSERT_TRUE(bench.keeper.Finish(bench.clock.now + Duration::Seconds(5)).ok());
  EXPECT_TRUE(bench.keeper.left_out().empty());
  FakeDirectory directory;
  ASSERT_TRUE(DownloadOutputs(store, kJob, "", directory).ok());
  EXPECT_EQ(directory.files.size(), kNames.size());
  for (const std::string& name : kNames) EXPECT_EQ(directory.files[name], "of " + name);
  ASSERT_TRUE(ListAll(store, "", [](const ObjectInfo& info) {
                EXPECT_EQ(Printable(info.key), info.key) << "every service lists it as it is";
                return Status::Ok();
              }).ok());
  EXPECT_EQ(store.Get(paths::Artifacts(kJob) + "out/.tmpfile")->data, "of out/.tmpfile");
}

TEST(OutputNames, WhatTheStoreRefusesHasAnotherName) {
  MemoryStore store;
  Picky picky(store, "colon:");
  Bench bench(picky);
  bench.files.Write("out/colon:x", "x");
  bench.files.Write("out/y", "y");
  ASSERT_TRUE(bench.keeper.Finish(bench.clock.now + Duration::Seconds(5)).ok());
  FakeDirectory directory;
  ASSERT_TRUE(DownloadOutputs(store, kJob, "", directory).ok());
  EXPECT_EQ(directory.files,
            (std::map<std::string, std::string>{{"out/colon:x", "x"}, {"out/y", "y"}}));
}

TEST(Outputs, AreSyncedWhileTheJobRunsAndAtItsEnd) {
  MemoryStore store;
  HandClock clock;
  FakeFiles files(clock);
  OutputsConfig config;
  config.job = kJob;
  config.leave_out = {"output/checkpoints"};
  OutputKeeper keeper(config, store, clock, {{"", &files}});
  files.Write("output/model.bin", "weights");
  files.Write("output/checkpoints/c.pt", "not an output");
  files.Open("output/train.log");
  ASSERT_TRUE(keeper.Step().ok());
  EXPECT_EQ(keeper.uploaded_files(), 0);
  clock.now = clock.now + Duration::Seconds(3);
  ASSERT_TRUE(keeper.Step().ok());
  EXPECT_EQ(keeper.uploaded_files(), 1);
  clock.now = clock.now + Duration::Seconds(3);
  ASSERT_TRUE(keeper.Step().ok());
  EXPECT_EQ(keeper.uploaded_files(), 1);  // nothing has changed
  clock.now = clock.now + Duration::Seconds(30);
  ASSERT_TRUE(keeper.Step().ok());
  EXPECT_EQ(keeper.uploaded_files(), 2);  // the log that never rests, as it is
  files.Close("output/train.log", "the end");
  files.alive = false;
  ASSERT_TRUE(keeper.Finish(clock.now + Duration::Seconds(5)).ok());
  FakeDirectory directory;
  auto done = DownloadOutputs(store, kJob, "output", directory);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->files, 2);
  EXPECT_EQ(directory.files["output/train.log"], "the end");
  EXPECT_EQ(directory.files["output/model.bin"], "weights");
  EXPECT_EQ(DownloadOutputs(store, kJob, "nothing", directory).code(), Code::kNotFound);
}

TEST(Outputs, OneThatFailsKeepsNoneOfTheOthers) {
  for (const int workers : {1, 4}) {
    MemoryStore store;
    bool denied = true;
    FaultPlan plan;
    plan.before = 1000;
    plan.only = [&](StoreCall call, const std::string& key) {
      return denied && call == StoreCall::kPut && EndsWith(key, "out/f7");
    };
    FaultyStore faulty(store, 1, plan);
    HandClock clock;
    FakeFiles files(clock);
    Threads crew;
    OutputsConfig config;
    config.job = kJob;
    config.movers = {&crew, nullptr, {workers, workers}};
    OutputKeeper keeper(config, faulty, clock, {{"", &files}});
    for (int i = 0; i < 200; ++i) {
      files.Write("out/f" + std::to_string(i), std::string(static_cast<size_t>(i), 'x'));
    }
    (void)keeper.Step();
    clock.now = clock.now + Duration::Seconds(3);
    const Status status = keeper.Step();
    EXPECT_TRUE(status.Is(Code::kUnavailable)) << status.ToString();
    EXPECT_NE(status.message().find("'out/f7'"), std::string::npos) << status.ToString();
    EXPECT_EQ(keeper.uploaded_files(), 199);
    FakeDirectory directory;
    EXPECT_EQ(DownloadOutputs(store, kJob, "", directory)->files, 199);
    denied = false;
    ASSERT_TRUE(keeper.Step().ok());
    EXPECT_EQ(keeper.uploaded_files(), 200);
    EXPECT_EQ(DownloadOutputs(store, kJob, "", directory)->files, 200);
    EXPECT_EQ(directory.files["out/f7"], "xxxxxxx");
  }
}

TEST(Outputs, OtherNodesHaveTheirOwnFolderAndNewerAttemptsWin) {
  MemoryStore store;
  HandClock clock;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    for (int rank = 0; rank < 2; ++rank) {
      FakeFiles files(clock);
      OutputsConfig config;
      config.job = kJob;
      config.attempt = attempt;
      config.rank = rank;
      OutputKeeper keeper(config, store, clock, {{"", &files}});
      files.Write("out/a", std::to_string(attempt) + std::to_string(rank));
      ASSERT_TRUE(keeper.Finish(clock.now + Duration::Seconds(5)).ok());
    }
  }
  FakeDirectory directory;
  ASSERT_TRUE(DownloadOutputs(store, kJob, "", directory).ok());
  EXPECT_EQ(directory.files,
            (std::map<std::string, std::string>{{"node-1/out/a", "21"}, {"out/a", "20"}}));
  ASSERT_TRUE(store.Put("jobs/job/artifacts/out/a", "xx").ok());
  const auto broken = DownloadOutputs(store, kJob, "out", directory);
  EXPECT_EQ(broken.code(), Code::kCorrupt);
}

TEST(Outputs, WhatIsRefusedForGoodIsLeftOutByNameAndTheRestKept) {
  MemoryStore store;
  Picky picky(store, OddObject("out/\n"));  // which is all that it could be called
  Bench bench(picky);
  bench.files.Write("out/\n", "x");
  bench.files.Write("out/y", "y");
  const auto end = bench.clock.now + Duration::Seconds(5);
  EXPECT_TRUE(bench.keeper.Finish(end).ok()) << "nothing is left to try";
  ASSERT_EQ(bench.keeper.left_out().size(), 1u);
  EXPECT_EQ(bench.keeper.left_out().begin()->first, "out/\n");
  const int asked = picky.asked;
  EXPECT_TRUE(bench.keeper.Finish(end).ok());
  EXPECT_EQ(picky.asked, asked) << "nor is it tried again";
  EXPECT_EQ(ListOutputs(store, kJob)->size(), 1u);
}

TEST(Outputs, AFileThatBecomesAFolderAndTheOtherWayRound) {
  MemoryStore store;
  Bench bench(store);
  bench.files.Write("out/a", "1");
  bench.files.Write("out/b/c", "2");
  ASSERT_TRUE(bench.keeper.Finish(bench.clock.now + Duration::Seconds(5)).ok());
  ASSERT_TRUE(bench.files.Remove("out/a").ok());
  ASSERT_TRUE(bench.files.Remove("out/b/c").ok());
  bench.files.Write("out/a/d", "3");
  bench.files.Write("out/b", "4");
  ASSERT_TRUE(bench.keeper.Finish(bench.clock.now + Duration::Seconds(5)).ok());
  FakeDirectory directory;
  ASSERT_TRUE(DownloadOutputs(store, kJob, "", directory).ok());
  const std::map<std::string, std::string> want = {{"out/a/d", "3"}, {"out/b", "4"}};
  EXPECT_EQ(directory.files, want);
  // Another attempt turns it round again.
  OutputsConfig config;
  config.job = kJob;
  config.attempt = 2;
  FakeFiles files(bench.clock);
  files.Write("out/a", "5");
  OutputKeeper second(config, store, bench.clock, {{"", &files}});
  ASSERT_TRUE(second.Finish(bench.clock.now + Duration::Seconds(5)).ok());
  FakeDirectory later;
  ASSERT_TRUE(DownloadOutputs(store, kJob, "", later).ok());
  const std::map<std::string, std::string> then = {{"out/a", "5"}, {"out/b", "4"}};
  EXPECT_EQ(later.files, then);
}

TEST(Outputs, WhatReplacesAnEarlierAttemptsIsKnown) {
  MemoryStore store;
  const auto keep = [&](int attempt, const std::map<std::string, std::string>& all) {
    HandClock clock;
    FakeFiles files(clock);
    for (const auto& [path, text] : all) files.Write(path, text);
    OutputsConfig config;
    config.job = kJob;
    config.attempt = attempt;
    OutputKeeper keeper(config, store, clock, {{"", &files}});
    ASSERT_TRUE(keeper.Finish(clock.now + Duration::Seconds(5)).ok());
  };
  keep(1, {{"grows.csv", "1\n2\n"}, {"same", "x"}, {"first", "1"}});
  keep(2, {{"grows.csv", "3\n"}, {"same", "x"}, {"second", "2"}});
  std::set<std::string> replaced;
  for (const OutputInfo& info : *ListOutputs(store, kJob)) {
    if (info.replaces_earlier) replaced.insert(info.path);
  }
  EXPECT_EQ(replaced, std::set<std::string>{"grows.csv"});
  keep(3, {{"second", "3"}});
  EXPECT_TRUE(ListOutputs(store, kJob)->at(1).replaces_earlier) << "still";
}

TEST(Outputs, WhatMayPassIsTriedUntilItIsGivenUp) {
  MemoryStore store;
  FaultPlan plan;
  plan.before = 1000;
  plan.only = [](StoreCall, const std::string& key) { return EndsWith(key, "out/x"); };
  FaultyStore faulty(store, 1, plan);
  Bench bench(faulty);
  bench.files.Write("out/x", "x");
  bench.files.Write("out/y", "y");
  const auto end = bench.clock.now + Duration::Seconds(5);
  const Status status = bench.keeper.Finish(end);
  EXPECT_TRUE(status.transient()) << status.ToString();
  EXPECT_NE(status.message().find("'out/x'"), std::string::npos) << status.ToString();
  EXPECT_TRUE(bench.keeper.left_out().empty());
  bench.keeper.GiveUp();
  ASSERT_EQ(bench.keeper.left_out().count("out/x"), 1u);
  EXPECT_EQ(ListOutputs(store, kJob)->size(), 1u);
}

TEST(Outputs, WhatMayNotBeReadIsUnsavedAndAPipeIsNot) {
  MemoryStore store;
  Bench bench(store);
  bench.files.Write("out/x", "x");
  bench.files.skipped = {{"out/locked", SkipReason::kUnreadable},
                         {"out/pipe", SkipReason::kNoFile},
                         {"out/away", SkipReason::kLeadsOut}};
  const auto end = bench.clock.now + Duration::Seconds(5);
  EXPECT_TRUE(bench.keeper.Finish(end).ok()) << "another try would not read it either";
  EXPECT_EQ(bench.keeper.unsaved(), std::set<std::string>{"out/locked"});
  EXPECT_EQ(bench.keeper.left_out().size(), 3u);
  EXPECT_EQ(bench.keeper.left_out().at("out/locked"), "it may not be read");
  bench.files.skipped.clear();
  EXPECT_TRUE(bench.keeper.Finish(end).ok());
  EXPECT_TRUE(bench.keeper.unsaved().empty()) << "it is gone";
}

// Names of roles and targets of links are bytes, too.
TEST(Manifests, KeepBytesThatAreNotUtf8) {
  Manifest manifest;
  manifest.job = kJob;
  manifest.id = {1, 2};
  Part part;
  ManifestFile link;
  link.path = "d\xff/link";
  link.kind = FileKind::kLink;
  link.target = "t\xfe";
  part.files = {link};
  manifest.parts = {part};
  const auto back = DecodeManifest(EncodeManifest(manifest));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->parts[0].files[0].path, link.path);
  EXPECT_EQ(back->parts[0].files[0].target, link.target);
  std::string evil = EncodeManifest(manifest);
  const size_t at = evil.find("d%FF/link");
  for (size_t i = at; i != std::string::npos; i = evil.find("d%FF/link")) {
    evil.replace(i, 9, "%2E%2E/li");
  }
  EXPECT_EQ(DecodeManifest(evil).code(), Code::kCorrupt) << "decoded names are judged, too";
}

TEST(OutputNames, OneRuleSaysWhichAreMeant) {
  const auto meant = [](const std::string& path, const std::string& what,
                        FileKind kind = FileKind::kFile) {
    OutputInfo output;
    output.path = path;
    output.file.kind = kind;
    return IsMeant(output, what);
  };
  for (const char* path : {"best", "best/v", "out/best/v", "out/best_old/best/w", "a/best",
                           "best2/xbest/best", "best_old/a/best/b/best_older"}) {
    EXPECT_TRUE(meant(path, "best")) << path;
    EXPECT_TRUE(meant(path, "")) << path;
  }
  for (const char* path : {"best_old/v", "xbest/v", "out/best.pt", "be/st"}) {
    EXPECT_FALSE(meant(path, "best")) << path;
  }
  EXPECT_TRUE(meant("x/out/best_old/out/best/w", "out/best"));
  EXPECT_FALSE(meant("out/x/best", "out/best"));
  // With a slash: the folder, not a file of the same name.
  EXPECT_TRUE(meant("out/best/v", "best/") && meant("best/best", "best/"));
  EXPECT_FALSE(meant("out/best", "best/"));
  EXPECT_TRUE(meant("out/best", "best/", FileKind::kDirectory));
  EXPECT_FALSE(meant("out/best", "b*t")) << "no character is special";
  EXPECT_TRUE(meant("out/b*t", "b*t") && meant("out/[a]/x", "[a]"));
}

// What one attempt keeps, and what `get` then fetches of each.
class ReplacedTest : public ::testing::Test {
 protected:
  void Attempt(int attempt, const std::map<std::string, std::string>& files) {
    HandClock clock;
    FakeFiles made(clock);
    OutputsConfig config;
    config.job = kJob;
    config.attempt = attempt;
    OutputKeeper keeper(config, store_, clock, {{"", &made}});
    for (const auto& [path, text] : files) made.Write(path, text);
    ASSERT_TRUE(keeper.Finish(clock.now + left_).ok());
    lost_ = keeper.left_out();
  }
  std::map<std::string, std::string> Get(int attempt) {
    FakeDirectory directory;
    EXPECT_TRUE(DownloadOutputs(store_, kJob, "", directory, {}, {}, attempt).ok());
    return directory.files;
  }

  MemoryStore store_;
  Duration left_ = Duration::Minutes(5);
  std::map<std::string, std::string> lost_;
};

using Files = std::map<std::string, std::string>;

TEST_F(ReplacedTest, AnAttemptsFilesOutliveTheNext) {
  Attempt(1, {{"out/a", "a1"}, {"out/same", "s"}, {"only1", "1"}, {"odd\nname", "o1"}});
  Attempt(2, {{"out/a", "a2"}, {"out/same", "s"}, {"odd\nname", "o2"}});
  Attempt(3, {{"out/a", "a3"}, {"out/same", "t"}});
  EXPECT_EQ(Get(1),
            (Files{{"out/a", "a1"}, {"out/same", "s"}, {"only1", "1"}, {"odd\nname", "o1"}}));
  EXPECT_EQ(Get(2), (Files{{"out/a", "a2"}, {"out/same", "s"}, {"odd\nname", "o2"}}));
  EXPECT_EQ(Get(3), (Files{{"out/a", "a3"}, {"out/same", "t"}}));
  EXPECT_EQ(Get(0),
            (Files{{"out/a", "a3"}, {"out/same", "t"}, {"only1", "1"}, {"odd\nname", "o2"}}));
  EXPECT_EQ(store_.Get(paths::Artifacts(kJob) + "out/a")->data, "a3") << "stays the newest";
  EXPECT_TRUE(ListOutputs(store_, kJob, 4)->empty());
  // What was written over without a list, as by an attempt that was killed, is not taken for it.
  ASSERT_TRUE(store_.Put(paths::Artifacts(kJob) + "out/a", "unlisted").ok());
  Attempt(5, {{"out/a", "a5"}});
  EXPECT_EQ(Get(1).at("out/a"), "a1");
  EXPECT_EQ(Get(3).count("out/a"), 0u);
}

TEST_F(ReplacedTest, TheLastFewAreKept) {
  for (int attempt = 1; attempt <= 6; ++attempt) {
    Attempt(attempt, {{"a", "of " + std::to_string(attempt)}});
  }
  EXPECT_EQ(Get(1), Files());
  EXPECT_EQ(Get(2), Files());
  for (int attempt = 3; attempt <= 6; ++attempt) {
    EXPECT_EQ(Get(attempt), (Files{{"a", "of " + std::to_string(attempt)}}));
  }
  const auto gone = ListOutputs(store_, kJob, 1);
  ASSERT_TRUE(gone.ok() && gone->size() == 1);
  EXPECT_EQ(gone->at(0).key, "");
}

TEST_F(ReplacedTest, WhatIsNewMattersMore) {
  Attempt(1, {{"large", std::string(2 << 20, 'l')}, {"little", "1"}});
  left_ = Duration::Ms(500);
  Attempt(2, {{"large", "new"}, {"little", "2"}});
  EXPECT_EQ(lost_.count("large (of an earlier attempt)"), 1u);
  EXPECT_EQ(Get(0), (Files{{"large", "new"}, {"little", "2"}}));
  EXPECT_EQ(Get(1), (Files{{"little", "1"}}));
}

}  // namespace
}  // namespace stoker::test
