// SPDX-License-Identifier: Apache-2.0
#include "transfer/staged_upload.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "base/digest.h"
#include "checkpoint/moment.h"
#include "test/checkpoint/fake_files.h"
#include "test/checkpoint/threads.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"

namespace stoker {
namespace {

using test::FakeSnapshot;
using test::Threads;
using test::TickingClock;

class StagedUpload : public ::testing::Test {
 protected:
  // `count` files of some bytes each, copied at once.
  void Fill(int count) {
    auto copy = std::make_shared<FakeSnapshot>();
    for (int i = 0; i < count; ++i) {
      const std::string path = "f" + std::to_string(i);
      auto file = std::make_shared<StagedFile>();
      file->fact.path = path;
      file->fact.size = i * 100;
      file->snapshot = copy;
      file->index = static_cast<size_t>(i);
      copy->facts.push_back(file->fact);
      copy->contents.emplace_back(static_cast<size_t>(i) * 100, static_cast<char>('a' + i % 26));
      moment_.files[path] = std::move(file);
    }
    copy_ = copy.get();
  }
  Status Upload(ObjectStore& store, int workers, const std::string& folder = "data/1-1-0/") {
    return UploadMoment(store, {&crew_, &clock_, {workers, 2, 1 << 20}}, "j", folder, known_, false,
                        &moment_);
  }
  std::string At(const std::string& object) {
    const auto found = store_.Get("jobs/j/checkpoints/" + object);
    return found.ok() ? found->data : "(none)";
  }

  MemoryStore store_;
  Threads crew_;
  TickingClock clock_;
  Moment moment_;
  FakeSnapshot* copy_ = nullptr;  // while a file keeps it
  std::map<std::string, std::string> known_;
};

TEST_F(StagedUpload, SendsAllOnceWithItsHash) {
  for (const int workers : {1, 3, 16}) {
    Fill(40);
    const std::vector<std::string> contents = copy_->contents;
    const std::string folder = "data/1-" + std::to_string(workers) + "-0/";
    known_[Sha256Hex(contents[7])] = "data/1-0-0/seven";
    ASSERT_TRUE(Upload(store_, workers, folder).ok());
    for (int i = 0; i < 40; ++i) {
      const StagedFile& file = *moment_.files["f" + std::to_string(i)];
      EXPECT_EQ(file.snapshot, nullptr) << "its room is given back";
      EXPECT_EQ(file.sha256, Sha256Hex(contents[static_cast<size_t>(i)]));
      EXPECT_EQ(file.object, i == 7 ? "data/1-0-0/seven" : folder + "f" + std::to_string(i));
      EXPECT_EQ(At(file.object), i == 7 ? "(none)" : contents[static_cast<size_t>(i)]);
    }
  }
}

TEST_F(StagedUpload, WhatFailedIsDoneLaterAndTheRestNotAgain) {
  for (const int workers : {1, 4}) {
    Fill(30);
    const std::vector<std::string> contents = copy_->contents;
    std::mutex mutex;
    std::map<std::string, int> writes;
    bool away = true;
    FaultPlan plan;
    plan.before = 1000;
    plan.only = [&](StoreCall, const std::string& key) {
      const std::lock_guard lock(mutex);
      const bool fails = away && key.substr(key.size() - 3) == "f15";
      if (!fails) ++writes[key.substr(key.rfind('/') + 1)];
      return fails;
    };
    FaultyStore faulty(store_, 1, plan);
    const Status first = Upload(faulty, workers, "data/1-1-0/");
    EXPECT_TRUE(first.Is(Code::kUnavailable));
    EXPECT_NE(first.message().find("'f15'"), std::string::npos) << first.ToString();
    size_t sent = 0;
    for (const auto& [path, file] : moment_.files) {
      sent += file->object.empty() ? 0 : 1;
      EXPECT_EQ(file->object.empty(), file->snapshot != nullptr) << path;
    }
    EXPECT_EQ(writes.size(), sent) << "nothing counts that did not arrive";
    EXPECT_LT(sent, 29u) << "the rest is not begun";
    away = false;
    ASSERT_TRUE(Upload(faulty, workers, "data/1-2-0/").ok());
    for (int i = 0; i < 30; ++i) {
      const std::string path = "f" + std::to_string(i);
      EXPECT_EQ(writes[path], 1) << path;
      EXPECT_EQ(At(moment_.files[path]->object), contents[static_cast<size_t>(i)]);
    }
    moment_ = {};
  }
}

// Takes many at once, and loses what has not settled.
class SettlingStore : public ForwardingStore {
 public:
  explicit SettlingStore(ObjectStore& inner) : ForwardingStore(inner), traits_(inner.traits()) {
    traits_.settles = true;
  }
  const StoreTraits& traits() const override { return traits_; }
  Result<ObjectInfo> PutUnsettled(const std::string& key, ObjectReader& from) override {
    ++unsettled;
    return PutFrom(key, from);
  }
  Status Settle() override {
    unsettled = 0;
    ++settled;
    return answer;
  }
  std::atomic<int> unsettled = 0;
  int settled = 0;
  Status answer;

 private:
  StoreTraits traits_;
};

TEST_F(StagedUpload, ManySmallOnesSettleTogetherBeforeTheyCount) {
  SettlingStore store(store_);
  Fill(40);
  ASSERT_TRUE(Upload(store, 4).ok());
  EXPECT_EQ(store.settled, 0) << "a few are each for themselves";
  moment_ = {};
  Fill(300);
  store.answer = Status(Code::kInternal, "a bad disk");
  const Status failed = Upload(store, 4, "data/1-2-0/");
  EXPECT_NE(failed.message().find("a bad disk"), std::string::npos) << failed.ToString();
  for (const auto& [path, file] : moment_.files) {
    EXPECT_TRUE(file->object.empty() && file->snapshot != nullptr) << path << " is not sent again";
  }
  store.answer = Status::Ok();
  ASSERT_TRUE(Upload(store, 4, "data/1-3-0/").ok());
  EXPECT_EQ(store.settled, 2);
  EXPECT_EQ(store.unsettled, 0) << "nothing was sent after the store settled";
  for (const auto& [path, file] : moment_.files) {
    EXPECT_EQ(file->object, "data/1-3-0/" + path);
    EXPECT_EQ(file->snapshot, nullptr);
  }
}

TEST_F(StagedUpload, NoticesACopyThatChanged) {
  for (const int change : {-1, 1}) {
    Fill(3);
    // Its hash is known, so that only the sending can notice.
    for (auto& [path, file] : moment_.files) file->sha256 = Sha256Hex(path);
    copy_->contents[2].resize(static_cast<size_t>(200 + change));
    const Status status = Upload(store_, 2);
    EXPECT_TRUE(status.Is(Code::kCorrupt)) << status.ToString();
    EXPECT_EQ(At("data/1-1-0/f2"), "(none)");
    EXPECT_EQ(moment_.files["f2"]->object, "");
    moment_ = {};
  }
}

}  // namespace
}  // namespace stoker
