// SPDX-License-Identifier: Apache-2.0
#include "transfer/fetch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>

#include "base/digest.h"
#include "test/checkpoint/fake_files.h"
#include "test/checkpoint/threads.h"
#include "test/kit/counted.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"

namespace stoker {
namespace {

using test::FakeDirectory;
using test::Threads;
using test::TickingClock;

// Ranges cost the same, as in a bucket. Calls `before` each read.
class RangedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override {
    return std::unique_ptr<ObjectReader>(new Reader(*this, info));
  }
  std::function<void(const std::string& key, int64_t offset)> before = [](auto&, auto) {};
  // What the wire does to the object, each read.
  std::function<void(const std::string& key, std::string* data)> garble;
  std::atomic<int> reads = 0;

 private:
  class Reader : public ObjectReader {
   public:
    Reader(RangedStore& store, ObjectInfo info) : store_(store), info_(std::move(info)) {}
    const ObjectInfo& info() const override { return info_; }
    bool ranged() const override { return true; }
    Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
      ++store_.reads;
      store_.before(info_.key, offset);
      STOKER_ASSIGN(const ObjectInfo now, store_.inner_.Head(info_.key));
      if (now.version != info_.version) return Status(Code::kConflict, "another by now");
      constexpr int64_t kPiece = 700'001;
      STOKER_ASSIGN(const std::shared_ptr<const std::string> whole, Whole());
      std::string garbled;
      if (store_.garble) {
        garbled = *whole;
        store_.garble(info_.key, &garbled);
      }
      const std::string& data = store_.garble ? garbled : *whole;
      for (int64_t at = offset; at < offset + size; at += kPiece) {
        const int64_t count = std::min(kPiece, offset + size - at);
        STOKER_TRY(take(
            std::string_view(data).substr(static_cast<size_t>(at), static_cast<size_t>(count))));
      }
      return Status::Ok();
    }
    Status Confirm(const std::vector<PartSum>&) override { return Status::Ok(); }

   private:
    // Of its version; read once, since it is large.
    Result<std::shared_ptr<const std::string>> Whole() {
      const std::lock_guard lock(mutex_);
      if (!whole_) {
        STOKER_ASSIGN(Object object, store_.inner_.Get(info_.key));
        whole_ = std::make_shared<const std::string>(std::move(object.data));
      }
      return whole_;
    }

    RangedStore& store_;
    const ObjectInfo info_;
    std::mutex mutex_;
    std::shared_ptr<const std::string> whole_;
  };
};

constexpr int64_t kLarge = (40 << 20) + 12'345;  // three ranges

class FetchTest : public ::testing::Test {
 protected:
  FetchTest() {
    for (int i = 0; i < 30; ++i) Add("f" + std::to_string(i), i * 1000);
    Add("large", kLarge);
  }
  void Add(const std::string& path, int64_t size) {
    std::string data(static_cast<size_t>(size), '\0');
    uint64_t x = static_cast<uint64_t>(size) + 7;
    for (size_t at = 0; at < data.size(); at += sizeof(x)) {
      x = x * 6364136223846793005U + 1;
      std::memcpy(&data[at], &x, std::min(sizeof(x), data.size() - at));
    }
    WantedFile file;
    file.key = "d/" + path;
    file.as = "to/" + path;
    file.called = path;
    file.size = size;
    file.sha256 = Sha256Hex(data);
    EXPECT_TRUE(memory_.Put(file.key, data).ok());
    expected_[file.as] = std::move(data);
    wanted_.push_back(std::move(file));
  }
  Status Fetch(ObjectStore& store, int workers) {
    return FetchFiles(store, {&crew_, &clock_, {workers, 2, 64 << 20}}, wanted_, directory_);
  }
  // One byte of `key` is another.
  void Damage(const std::string& key, size_t at) {
    std::string data = memory_.Get(key)->data;
    data[at] = static_cast<char>(data[at] ^ 1);
    ASSERT_TRUE(memory_.Put(key, data).ok());
  }

  MemoryStore memory_;
  RangedStore ranged_{memory_};
  Threads crew_;
  TickingClock clock_;
  FakeDirectory directory_;
  std::vector<WantedFile> wanted_;
  std::map<std::string, std::string> expected_;
};

TEST_F(FetchTest, GivesWhatWasWrittenHoweverItComes) {
  struct Way {
    ObjectStore& store;
    bool ranged;  // the directory
    int workers;
  };
  for (const Way& way : {Way{memory_, true, 7}, Way{ranged_, true, 1}, Way{ranged_, true, 7},
                         Way{ranged_, false, 7}}) {
    directory_.ranged = way.ranged;
    directory_.files.clear();
    ranged_.reads = 0;
    const Status status = Fetch(way.store, way.workers);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(directory_.files == expected_);
    // The empty one needs none, and the large one is read in three ranges.
    if (&way.store == &ranged_) {
      EXPECT_EQ(ranged_.reads, 29 + 3);
    }
  }
}

TEST_F(FetchTest, DamageIsFoundWhereverItIs) {
  for (const size_t at : {size_t{0}, size_t{20} << 20, static_cast<size_t>(kLarge) - 1}) {
    Damage("d/large", at);
    directory_.files.clear();
    const Status status = Fetch(ranged_, at == 0 ? 1 : 7);
    EXPECT_TRUE(status.Is(Code::kCorrupt)) << status.ToString();
    EXPECT_NE(status.message().find("'large'"), std::string::npos) << status.ToString();
    EXPECT_EQ(directory_.files.count("to/large"), 0u);
    Damage("d/large", at);
  }
  Damage("d/f3", 5);
  directory_.files.clear();
  const Status status = Fetch(ranged_, 4);
  EXPECT_TRUE(status.Is(Code::kCorrupt)) << status.ToString();
  EXPECT_NE(status.message().find("'f3'"), std::string::npos) << status.ToString();
  EXPECT_EQ(directory_.files.count("to/f3"), 0u);
}

// A bit that is another one only on its way must not cost a checkpoint.
TEST_F(FetchTest, WhatIsDamagedOnItsWayComesAgain) {
  for (const std::string& key : {std::string("d/f9"), std::string("d/large")}) {
    for (const int times : {1, 2, 3}) {
      std::atomic<int> left = times;
      std::mutex mutex;
      std::map<std::string, int> reads;
      ranged_.garble = [&](const std::string& read, std::string* data) {
        const std::lock_guard lock(mutex);
        ++reads[read];
        // Of "large" once a try: its other ranges come right.
        const bool due = key != "d/large" || reads[read] % 3 == 1;
        if (read != key || !due || left-- <= 0) return;
        for (size_t at = 5; at < data->size(); at += 1 << 20) {
          (*data)[at] = static_cast<char>((*data)[at] ^ 1);
        }
      };
      directory_.files.clear();
      const Status fetched = Fetch(ranged_, 1);
      EXPECT_EQ(fetched.code(), times < 3 ? Code::kOk : Code::kCorrupt) << fetched.ToString();
      if (times == 3) continue;
      for (const auto& [path, data] : expected_) EXPECT_EQ(directory_.files[path], data) << path;
      for (const auto& [read, count] : reads) {
        if (read == key || read == "d/large") continue;
        EXPECT_EQ(count, 1) << read << " came again";
      }
    }
  }
}

TEST_F(FetchTest, WhatIsMissingShortOrReplacedIsSaid) {
  ranged_.before = [&](const std::string& key, int64_t) {
    if (key == "d/large") (void)memory_.Put(key, "another");
  };
  EXPECT_TRUE(Fetch(ranged_, 4).Is(Code::kConflict));
  ranged_.before = [](auto&, auto) {};
  directory_.files.clear();
  ranged_.reads = 0;
  const Status replaced = Fetch(ranged_, 4);
  EXPECT_TRUE(replaced.Is(Code::kCorrupt)) << replaced.ToString();
  ASSERT_TRUE(memory_.Delete("d/large").ok());
  const Status missing = Fetch(ranged_, 4);
  EXPECT_TRUE(missing.Is(Code::kCorrupt)) << missing.ToString();
  EXPECT_NE(missing.message().find("missing"), std::string::npos) << missing.ToString();
  EXPECT_EQ(ranged_.reads, 0) << "the look-up knows both";
  EXPECT_TRUE(directory_.files.empty());
}

TEST_F(FetchTest, AStoreThatGoesAwayIsNoDamage) {
  for (const int workers : {1, 7}) {
    std::atomic<int> left = 10;
    FaultPlan plan;
    plan.before = 1000;
    plan.only = [&](StoreCall call, const std::string&) {
      return call == StoreCall::kGet && --left < 0;
    };
    FaultyStore faulty(ranged_, 1, plan);
    directory_.files.clear();
    ranged_.reads = 0;
    const Status status = Fetch(faulty, workers);
    EXPECT_TRUE(status.Is(Code::kUnavailable)) << status.ToString();
    EXPECT_LE(ranged_.reads, 10) << "nothing is begun after the failure";
  }
  directory_.files.clear();
  directory_.full = true;
  EXPECT_TRUE(Fetch(ranged_, 4).Is(Code::kNoSpace));
}

TEST_F(FetchTest, LooksUpManyWithFewRequests) {
  CountedStore counted(memory_);
  std::vector<std::string> keys = {"d/nothing", "elsewhere/one", "deep/a/b"};
  ASSERT_TRUE(memory_.Put("deep/a/b", "xyz").ok());
  for (const WantedFile& file : wanted_) keys.push_back(file.key);
  const auto found = LookUp(counted, {&crew_, nullptr, {4, 4}}, keys);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->size(), keys.size());
  for (const WantedFile& file : wanted_) {
    ASSERT_TRUE(found->at(file.key).has_value()) << file.key;
    EXPECT_EQ(found->at(file.key)->size, file.size);
    EXPECT_EQ(found->at(file.key)->version, memory_.Head(file.key)->version);
  }
  EXPECT_FALSE(found->at("d/nothing").has_value());
  EXPECT_FALSE(found->at("elsewhere/one").has_value());
  EXPECT_EQ(found->at("deep/a/b")->size, 3);
  EXPECT_EQ(counted.counts().list, 1);
  EXPECT_EQ(counted.counts().head, 2);
}

}  // namespace
}  // namespace stoker
