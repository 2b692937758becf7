// SPDX-License-Identifier: Apache-2.0
// The engine between stores in memory, with faults; test/e2e/sync.py drives it on real ones.
#include "transfer/transfer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "base/prng.h"
#include "test/checkpoint/threads.h"
#include "transfer/store_side.h"

namespace stoker {
namespace {

using test::Threads;
using test::TickingClock;

class MemoryJournal : public Journal {
 public:
  Result<std::vector<std::string>> Lines() override {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  Status Add(const std::string& line) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
    return Status::Ok();
  }
  Status Settle() override { return Status::Ok(); }
  Status Replace(const std::vector<std::string>& lines) override {
    const std::lock_guard lock(mutex_);
    lines_ = lines;
    return Status::Ok();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// A side that lives in memory and takes parts; it can be told to fail.
class FakeSide : public TransferSide {
 public:
  static constexpr int64_t kPart = 10;
  std::string url() const override { return "fake:"; }
  bool keeps_times() const override { return true; }
  int64_t whole_bytes() const override { return kPart; }
  int64_t memory(const ObjectReader& from) const override { return from.info().size; }

  Status List(const std::function<void(ObjectInfo)>& each,
              const std::function<void(std::string, Status)>&, WallTime* now) override {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, data] : files) each(InfoOf(key));
    *now = {0};
    return Status::Ok();
  }
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override;
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from) override {
    STOKER_TRY(Fails());
    std::string data;
    STOKER_TRY(from.Read(0, from.info().size, [&](std::string_view bytes) {
      data += bytes;
      return Status::Ok();
    }));
    STOKER_TRY(from.Confirm({}));
    const std::lock_guard lock(mutex_);
    files[key] = data;
    return InfoOf(key);
  }
  Result<std::unique_ptr<PartsUpload>> BeginParts(const std::string& key, const ObjectInfo& from,
                                                  const std::string& resume) override;
  std::vector<OddKey> DeleteAll(const std::vector<std::string>& keys) override {
    const std::lock_guard lock(mutex_);
    std::vector<OddKey> failed;
    for (const std::string& key : keys) {
      if (held.count(key) > 0) {
        failed.push_back({key, Status(Code::kDenied, "held")});
      } else {
        files.erase(key);
      }
    }
    return failed;
  }

  Status Settle() override {
    ++settled;
    return Status::Ok();
  }

  Status Fails() {
    const std::lock_guard lock(mutex_);
    if (static_cast<int>(prng.Below(1000)) >= fails_in_1000) return Status::Ok();
    return Status(fails_as, "injected");
  }
  ObjectInfo InfoOf(const std::string& key) {
    const std::string& data = files[key];
    return {key, static_cast<int64_t>(data.size()), data, {1000}};
  }

  std::mutex mutex_;
  std::map<std::string, std::string> files;
  std::set<std::string> held;  // cannot be deleted
  std::map<std::string, std::map<int, std::string>> uploads;
  std::atomic<int> parts_written = 0;
  int settled = 0;
  Prng prng{1};
  int fails_in_1000 = 0;
  Code fails_as = Code::kUnavailable;
};

class FakeReader : public ObjectReader {
 public:
  FakeReader(FakeSide& side, ObjectInfo info) : side_(side), info_(std::move(info)) {}
  const ObjectInfo& info() const override { return info_; }
  bool ranged() const override { return true; }
  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    STOKER_TRY(side_.Fails());
    return take(std::string_view(info_.version)
                    .substr(static_cast<size_t>(offset), static_cast<size_t>(size)));
  }
  Status Confirm(const std::vector<PartSum>&) override {
    const std::lock_guard lock(side_.mutex_);
    if (side_.files[info_.key] == info_.version) return Status::Ok();
    return Status(Code::kConflict, "changed");
  }

 private:
  FakeSide& side_;
  const ObjectInfo info_;
};

class FakeParts : public PartsUpload {
 public:
  FakeParts(FakeSide& side, ObjectInfo info, std::string id)
      : side_(side), info_(std::move(info)), id_(std::move(id)) {
    for (const auto& [n, data] : side_.uploads[id_]) {
      done_[n] = {static_cast<int64_t>(data.size()), std::nullopt};
    }
  }
  const std::string& id() const override { return id_; }
  int64_t part_size() const override { return FakeSide::kPart; }
  const std::map<int, PartSum>& done() const override { return done_; }
  bool parallel() const override { return true; }
  int64_t memory(const ObjectReader&) const override { return FakeSide::kPart; }
  Result<PartSum> WritePart(int n, ObjectReader& from) override {
    STOKER_TRY(side_.Fails());
    std::string data;
    const int64_t offset = n * part_size();
    STOKER_TRY(
        from.Read(offset, std::min(part_size(), info_.size - offset), [&](std::string_view bytes) {
          data += bytes;
          return Status::Ok();
        }));
    ++side_.parts_written;
    const std::lock_guard lock(side_.mutex_);
    side_.uploads[id_][n] = data;
    return PartSum{static_cast<int64_t>(data.size()), std::nullopt};
  }
  Result<ObjectInfo> Commit() override {
    STOKER_TRY(side_.Fails());
    const std::lock_guard lock(side_.mutex_);
    std::string whole;
    for (const auto& [n, data] : side_.uploads[id_]) whole += data;
    side_.files[info_.key] = whole;
    side_.uploads.erase(id_);
    return side_.InfoOf(info_.key);
  }
  void Abort() override {
    const std::lock_guard lock(side_.mutex_);
    side_.uploads.erase(id_);
  }

 private:
  FakeSide& side_;
  const ObjectInfo info_;
  const std::string id_;
  std::map<int, PartSum> done_;
};

Result<std::unique_ptr<ObjectReader>> FakeSide::OpenReader(const ObjectInfo& info) {
  STOKER_TRY(Fails());
  return std::unique_ptr<ObjectReader>(new FakeReader(*this, info));
}
Result<std::unique_ptr<PartsUpload>> FakeSide::BeginParts(const std::string& key,
                                                          const ObjectInfo& from,
                                                          const std::string& resume) {
  STOKER_TRY(Fails());
  const std::lock_guard lock(mutex_);
  const bool there = uploads.count(resume) > 0;
  return std::unique_ptr<PartsUpload>(new FakeParts(
      *this, {key, from.size, "", {}}, there ? resume : "u" + std::to_string(prng.Next())));
}

class TransferTest : public ::testing::Test {
 protected:
  void Fill(uint64_t seed) {
    Prng prng(seed);
    for (int i = 0; i < 60; ++i) {
      std::string data(static_cast<size_t>(prng.Below(i % 6 == 0 ? 400 : 11)), '\0');
      for (char& c : data) c = static_cast<char>('a' + prng.Below(26));
      source_.files["f" + std::to_string(i)] = data;
    }
  }
  // `cut`: the power goes before it has settled.
  TransferReport Sync(int workers, bool remove = false, bool cut = false) {
    SyncMemory memory(journal_, boot_);
    EXPECT_TRUE(memory.Load().ok());
    auto lists = ListSides(source_, target_);
    PlanRules rules;
    rules.target_keeps_times = true;
    rules.remove = remove;
    if (memory.in_doubt()) rules.doubt_up_to = target_.whole_bytes();
    plan_ = PlanSync(lists->source, lists->target, memory.known(), rules);
    TransferOptions options;
    options.workers = workers;
    options.memory = 50;  // a worker with 400 bytes has it for itself
    EXPECT_TRUE(memory.BeginWriting(target_).ok());
    auto report = RunTransfer({source_, target_, memory, crew_, clock_}, plan_, options);
    const bool all = report.failed.empty();
    EXPECT_TRUE(cut || memory.EndWriting(target_, all).ok());
    return report;
  }

  FakeSide source_;
  FakeSide target_;
  MemoryJournal journal_;
  std::string boot_ = "first boot";
  Threads crew_;
  TickingClock clock_;
  SyncPlan plan_;
};

TEST_F(TransferTest, CopiesEverythingWithAnyNumberOfHands) {
  for (const int workers : {1, 2, 7, 32}) {
    Fill(static_cast<uint64_t>(workers));
    target_.files["old"] = "x";
    const TransferReport report = Sync(workers, true);
    EXPECT_TRUE(report.failed.empty());
    EXPECT_EQ(report.removed, 1);
    EXPECT_EQ(target_.files, source_.files);
    EXPECT_TRUE(target_.uploads.empty());
    EXPECT_EQ(Sync(workers).files, 0);
  }
}

TEST_F(TransferTest, WhatCannotBeRemovedIsNamedAndTheRestIsRemoved) {
  source_.files["f"] = "x";
  for (int i = 0; i < 1500; ++i) target_.files["old" + std::to_string(i)] = "x";
  target_.held = {"old3", "old7"};
  const TransferReport report = Sync(1, true);
  EXPECT_EQ(report.removed, 1498);
  ASSERT_EQ(report.failed.size(), 2u);
  EXPECT_EQ(report.failed[0].key, "old3");
  EXPECT_EQ(report.failed[1].key, "old7");
  EXPECT_EQ(report.failed[1].why.code(), Code::kDenied);
  EXPECT_NE(report.failed[1].why.message().find("removing"), std::string::npos);
}

TEST_F(TransferTest, FailuresAreOfOneFileAndTheRestIsGoneOnWith) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Fill(seed);
    target_.files.clear();
    target_.files["old"] = "x";
    target_.fails_in_1000 = 60;
    source_.fails_in_1000 = 20;
    target_.parts_written = 0;
    int64_t copied = 0;
    int runs = 0;
    for (TransferReport report; runs < 100; ++runs) {
      report = Sync(seed % 2 == 0 ? 1 : 8, true);
      copied += report.files;
      if (report.failed.empty()) break;
      EXPECT_EQ(report.files + static_cast<int64_t>(report.failed.size()),
                static_cast<int64_t>(plan_.copy.size()));
      EXPECT_EQ(target_.files.count("old"), 1u) << "nothing is removed after a failure";
    }
    EXPECT_EQ(target_.files, source_.files);
    EXPECT_EQ(copied, static_cast<int64_t>(source_.files.size())) << "each file once";
    int parts = 0;
    for (const auto& [key, data] : source_.files) {
      const auto size = static_cast<int64_t>(data.size());
      if (size > FakeSide::kPart) parts += static_cast<int>((size + 9) / FakeSide::kPart);
    }
    EXPECT_EQ(target_.parts_written, parts) << "each part once";
  }
}

TEST_F(TransferTest, WhatAPowerCutMayHaveTornIsCopiedAgain) {
  source_.files = {{"settled", "abc"}, {"large", std::string(95, 'x')}};
  EXPECT_EQ(Sync(2).files, 2);
  EXPECT_EQ(target_.settled, 1);
  source_.files["small"] = "efgh";
  EXPECT_EQ(Sync(2, false, true).files, 1);
  EXPECT_EQ(target_.settled, 1);
  // The same machine is still up: only the process has died, or not even that.
  EXPECT_EQ(Sync(2, false, true).files, 0);
  boot_ = "second boot";
  target_.files["small"] = std::string(4, '\0');  // its size and time are right
  target_.fails_in_1000 = 1000;
  EXPECT_EQ(Sync(2).failed.size(), 1u) << "what was settled is not asked for again";
  target_.fails_in_1000 = 0;
  boot_ = "third boot";
  EXPECT_EQ(Sync(2).files, 1) << "still in doubt";
  EXPECT_EQ(target_.files, source_.files);
  boot_ = "fourth boot";
  EXPECT_EQ(Sync(2).files, 0);
}

TEST_F(TransferTest, WhatWasBegunAndNeverEndedCanBeFound) {
  source_.files = {{"ended", std::string(95, 'x')}, {"begun", std::string(95, 'y')}};
  {
    SyncMemory memory(journal_, boot_);
    EXPECT_TRUE(memory.NoteBucket("fake:").ok());
    EXPECT_TRUE(memory.NoteBucket("fake:").ok()) << "once";
    EXPECT_TRUE(memory.NoteBegun("begun", "v", "id-1").ok());
    EXPECT_TRUE(memory.NoteBegun("ended", "v", "id-2").ok());
    EXPECT_TRUE(memory.NoteSame("ended", "v", "w").ok());
  }
  EXPECT_EQ(journal_.Lines()->size(), 4u);
  SyncMemory memory(journal_, boot_);
  EXPECT_TRUE(memory.Load().ok());
  EXPECT_EQ(memory.bucket(), "fake:");
  ASSERT_EQ(memory.begun().size(), 1u);
  EXPECT_EQ(memory.begun().count("begun"), 1u);
  EXPECT_TRUE(memory.ForgetBegun().ok());
  SyncMemory after(journal_, boot_);
  EXPECT_TRUE(after.Load().ok());
  EXPECT_TRUE(after.begun().empty());
  EXPECT_EQ(after.known().size(), 1u);
  EXPECT_EQ(after.bucket(), "fake:");
  for (int i = 0; i < 2000; ++i) EXPECT_TRUE(after.NoteSame("ended", "v", "w").ok());
  SyncMemory compacted(journal_, boot_);
  EXPECT_TRUE(compacted.Load().ok());
  EXPECT_TRUE(compacted.Compact(ListSides(source_, target_)->source.objects).ok());
  EXPECT_EQ(journal_.Lines()->size(), 2u);
  EXPECT_TRUE(compacted.Load().ok());
  EXPECT_EQ(compacted.bucket(), "fake:");
}

// Changes a file while it is on its way.
TEST_F(TransferTest, WhatChangesMeanwhileIsNotPublished) {
  source_.files = {{"small", "abc"}, {"large", std::string(95, 'x')}};
  auto lists = ListSides(source_, target_);
  SyncMemory memory(journal_, "boot");
  const SyncPlan plan = PlanSync(lists->source, lists->target, {}, {});
  source_.files = {{"small", "other"}, {"large", std::string(95, 'y')}};
  const TransferReport report =
      RunTransfer({source_, target_, memory, crew_, clock_}, plan, TransferOptions());
  ASSERT_EQ(report.failed.size(), 2u);
  for (const OddKey& failed : report.failed) EXPECT_TRUE(failed.why.Is(Code::kConflict));
  EXPECT_TRUE(target_.files.empty());
  EXPECT_TRUE(target_.uploads.empty());
}

// What a checkpoint's files are to their transfer: worth nothing by themselves.
class NothingLasts : public TransferMemory {
 public:
  std::string Begun(const std::string&, const Version&) const override { return ""; }
  Status NoteBegun(const std::string&, const Version&, const std::string&) override {
    return Status::Ok();
  }
  Status NoteSame(const std::string&, const Version&, const Version&) override {
    ++arrived;
    return Status::Ok();
  }
  bool lasts() const override { return false; }
  std::atomic<int> arrived = 0;
};

TEST_F(TransferTest, AllOrNothingGivesUpAtTheFirstFailureAndLeavesNothingBegun) {
  int gave_up = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Fill(seed);
    target_.files.clear();
    target_.fails_in_1000 = 20;
    auto lists = ListSides(source_, target_);
    std::vector<ObjectInfo> files = lists->source.objects;
    SortLargeFirst(&files);
    NothingLasts memory;
    TransferOptions options{seed % 2 == 0 ? 1 : 8, 2, 50, true};
    const TransferReport report =
        MoveFiles(source_, target_, memory, {&crew_, &clock_, options}, files);
    EXPECT_EQ(report.files, memory.arrived);
    EXPECT_EQ(report.files, static_cast<int64_t>(target_.files.size()));
    EXPECT_TRUE(target_.uploads.empty()) << "what was begun is taken back";
    for (const auto& [key, data] : target_.files) EXPECT_EQ(data, source_.files[key]) << key;
    if (report.failed.empty()) {
      EXPECT_EQ(target_.files, source_.files);
      continue;
    }
    ++gave_up;
    for (const OddKey& failed : report.failed) EXPECT_TRUE(failed.why.Is(Code::kUnavailable));
    EXPECT_LE(report.failed.size(), static_cast<size_t>(options.workers));
    if (options.workers == 1) {
      EXPECT_EQ(report.failed.size(), 1u);
    }
  }
  EXPECT_GT(gave_up, 20);
}

TEST_F(TransferTest, ASideThatGivesUpByItselfHasFailed) {
  for (const int workers : {1, 8}) {
    Fill(1);
    target_.fails_in_1000 = 1000;
    target_.fails_as = Code::kCancelled;
    auto lists = ListSides(source_, target_);
    SortLargeFirst(&lists->source.objects);
    NothingLasts memory;
    const TransferReport report = MoveFiles(
        source_, target_, memory, {&crew_, &clock_, {workers, 2, 50, true}}, lists->source.objects);
    EXPECT_EQ(report.files, 0);
    ASSERT_FALSE(report.failed.empty());
    EXPECT_TRUE(report.failed.front().why.Is(Code::kCancelled));
  }
}

TEST_F(TransferTest, WorkThroughEndsAtTheFirstFailure) {
  for (const int workers : {1, 8}) {
    const Movers movers{&crew_, nullptr, {workers, workers}};
    std::atomic<int> done = 0;
    EXPECT_TRUE(WorkThrough(movers, 0, [&](size_t) { return Status(Code::kInternal, ""); }).ok());
    EXPECT_TRUE(WorkThrough(movers, 100, [&](size_t) {
                  ++done;
                  return Status::Ok();
                }).ok());
    EXPECT_EQ(done, 100);
    done = 0;
    const Status status = WorkThrough(movers, 1000, [&](size_t index) {
      ++done;
      return index == 5 ? Status(Code::kNoSpace, "full") : Status::Ok();
    });
    EXPECT_TRUE(status.Is(Code::kNoSpace));
    EXPECT_LT(done, 1000);
  }
}

}  // namespace
}  // namespace stoker
