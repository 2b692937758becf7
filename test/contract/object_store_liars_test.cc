// SPDX-License-Identifier: Apache-2.0
// Proves that the contract suite notices stores that break the contract: each liar below must be
// found out by at least one check that is named for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "store/forwarding.h"
#include "store/memory_store.h"
#include "test/contract/object_store_suite.h"

namespace stoker::contract {
namespace {

// In the middle of a lie: long enough that another thread is sure to look.
void LetOthersIn() { std::this_thread::sleep_for(std::chrono::microseconds(500)); }

class IgnoresConditions : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Version> Put(const std::string& key, std::string_view data, const Condition&) override {
    return inner_.Put(key, data);
  }
};

// Looks, waits, and writes: right for one caller, wrong for two.
class ChecksThenWrites : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    const auto head = inner_.Head(key);
    if (condition.kind == Condition::Kind::kAbsent && head.ok()) {
      return Status(Code::kExists, key);
    }
    if (condition.kind == Condition::Kind::kMatch) {
      if (!head.ok()) return head.status();
      if (head->version != condition.version) return Status(Code::kConflict, key);
    }
    LetOthersIn();
    return inner_.Put(key, data);
  }
};

class TearsData : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    if (condition.kind != Condition::Kind::kNone) return inner_.Put(key, data, condition);
    const auto old = inner_.Get(key);
    if (old.ok()) {
      std::string mixed = old->data;
      mixed.replace(0, std::min(mixed.size(), data.size() / 2), data.substr(0, data.size() / 2));
      (void)inner_.Put(key, mixed);
      LetOthersIn();
    }
    return inner_.Put(key, data);
  }
};

// An ETag that is the hash of the content, as on S3.
class NamesVersionsByContent : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    const std::lock_guard lock(mutex_);
    Condition real = condition;
    const auto known = real_.find(key);
    if (condition.kind == Condition::Kind::kMatch && known != real_.end()) {
      const auto object = inner_.Get(key);
      if (object.ok() && Etag(object->data) == condition.version) real.version = known->second;
    }
    STOKER_ASSIGN(real_[key], inner_.Put(key, data, real));
    return Etag(data);
  }
  Result<ObjectInfo> Head(const std::string& key) override {
    STOKER_ASSIGN(const Object object, Get(key));
    return object.info;
  }
  Result<Object> Get(const std::string& key) override {
    STOKER_ASSIGN(Object object, inner_.Get(key));
    object.info.version = Etag(object.data);
    return object;
  }

 private:
  static Version Etag(std::string_view data) {
    return std::to_string(std::hash<std::string_view>()(data));
  }
  std::mutex mutex_;
  std::map<std::string, Version> real_;
};

class ReadsFromCache : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Object> Get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    auto& [uses, object] = cache_[key];
    if (uses++ % 3 == 0) object = inner_.Get(key);
    return *object;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<int, std::optional<Result<Object>>>> cache_;
};

class ForgetsDeletes : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status Delete(const std::string&) override { return Status::Ok(); }
};

class ListsOutOfOrder : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Listing> List(const std::string& prefix, const std::string& after, int limit) override {
    STOKER_ASSIGN(Listing listing, inner_.List(prefix, after, limit));
    if (listing.objects.size() > 2) std::swap(listing.objects[0], listing.objects[1]);
    return listing;
  }
};

class DropsAPagesLast : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Listing> List(const std::string& prefix, const std::string& after, int limit) override {
    STOKER_ASSIGN(Listing listing, inner_.List(prefix, after, limit));
    if (!listing.next.empty() && listing.objects.size() > 1) listing.objects.pop_back();
    return listing;
  }
};

class TakesAnyKey : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    return inner_.Put(key.empty() ? "empty" : key, data, condition);
  }
};

class PublishesEarly : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                              const Condition& condition) override {
    (void)inner_.Put(key, "");
    return inner_.BeginUpload(key, condition);
  }
};

template <typename Liar>
class LiarSubject : public Subject {
 public:
  ObjectStore& store() override { return liar_; }
  std::unique_ptr<ObjectStore> Reopen() override { return nullptr; }

 private:
  MemoryStore memory_;
  Liar liar_{memory_};
};

// Runs `check` up to `tries` times (races need luck) and says whether it found anything.
template <typename Liar>
bool FoundOutBy(const std::string& check, int tries = 20) {
  for (const Check& candidate : AllChecks()) {
    if (candidate.name != check) continue;
    for (int i = 0; i < tries; ++i) {
      LiarSubject<Liar> subject;
      Findings findings;
      candidate.run(subject, findings);
      if (!findings.all().empty()) return true;
    }
  }
  return false;
}

TEST(ObjectStoreLiars, AreFoundOut) {
  EXPECT_TRUE(FoundOutBy<IgnoresConditions>("CreatesOnce"));
  EXPECT_TRUE(FoundOutBy<IgnoresConditions>("ComparesAndSwaps"));
  EXPECT_TRUE(FoundOutBy<ChecksThenWrites>("ThreadsIncrement"));
  EXPECT_TRUE(FoundOutBy<ChecksThenWrites>("ThreadsCreateOnce"));
  EXPECT_TRUE(FoundOutBy<TearsData>("ReadersSeeWholes"));
  EXPECT_TRUE(FoundOutBy<NamesVersionsByContent>("VersionsNeverRepeat"));
  EXPECT_TRUE(FoundOutBy<ReadsFromCache>("ComparesAndSwaps"));
  EXPECT_TRUE(FoundOutBy<ForgetsDeletes>("DeletesWhole"));
  EXPECT_TRUE(FoundOutBy<ListsOutOfOrder>("PrefixesAndPages"));
  EXPECT_TRUE(FoundOutBy<DropsAPagesLast>("PagesJoin"));
  EXPECT_TRUE(FoundOutBy<TakesAnyKey>("RefusesBadKeys"));
  EXPECT_TRUE(FoundOutBy<PublishesEarly>("Uploads"));
}

TEST(ObjectStoreLiars, TheHonestAreNot) {
  for (const Check& check : AllChecks()) {
    if (check.processes) continue;
    EXPECT_FALSE(FoundOutBy<ForwardingStore>(check.name, 1)) << check.name;
  }
}

}  // namespace
}  // namespace stoker::contract
