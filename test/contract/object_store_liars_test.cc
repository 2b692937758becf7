// SPDX-License-Identifier: Apache-2.0
// Proves that the contract suite notices stores that break the contract: each liar below must be
// found out by at least one check that is named for it, whichever wrapper of store/ it is made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "store/forwarding.h"
#include "test/contract/object_store_suite.h"
#include "test/kit/counted.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"

namespace stoker::contract {
namespace {

// In the middle of a lie: long enough that another thread is sure to look.
void LetOthersIn() { std::this_thread::sleep_for(std::chrono::microseconds(500)); }

template <typename Wrapper>
class IgnoresConditions : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Result<Version> Put(const std::string& key, std::string_view data, const Condition&) override {
    return Wrapper::Put(key, data);
  }
};

// Looks, waits, and writes: right for one caller, wrong for two.
template <typename Wrapper>
class ChecksThenWrites : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    const auto head = Wrapper::Head(key);
    if (condition.kind == Condition::Kind::kAbsent && head.ok()) {
      return Status(Code::kExists, key);
    }
    if (condition.kind == Condition::Kind::kMatch) {
      if (!head.ok()) return head.status();
      if (head->version != condition.version) return Status(Code::kConflict, key);
    }
    LetOthersIn();
    return Wrapper::Put(key, data);
  }
};

template <typename Wrapper>
class TearsData : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    if (condition.kind != Condition::Kind::kNone) return Wrapper::Put(key, data, condition);
    const auto old = Wrapper::Get(key);
    if (old.ok()) {
      std::string mixed = old->data;
      mixed.replace(0, std::min(mixed.size(), data.size() / 2), data.substr(0, data.size() / 2));
      (void)Wrapper::Put(key, mixed);
      LetOthersIn();
    }
    return Wrapper::Put(key, data);
  }
};

// An ETag that is the hash of the content, as on S3.
template <typename Wrapper>
class NamesVersionsByContent : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    const std::lock_guard lock(mutex_);
    Condition real = condition;
    const auto known = real_.find(key);
    if (condition.kind == Condition::Kind::kMatch && known != real_.end()) {
      const auto object = Wrapper::Get(key);
      if (object.ok() && Etag(object->data) == condition.version) real.version = known->second;
    }
    STOKER_ASSIGN(real_[key], Wrapper::Put(key, data, real));
    return Etag(data);
  }
  Result<ObjectInfo> Head(const std::string& key) override {
    STOKER_ASSIGN(const Object object, Get(key));
    return object.info;
  }
  Result<Object> Get(const std::string& key) override {
    STOKER_ASSIGN(Object object, Wrapper::Get(key));
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

template <typename Wrapper>
class ReadsFromCache : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Result<Object> Get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    auto& [uses, object] = cache_[key];
    if (uses++ % 3 == 0) object = Wrapper::Get(key);
    return *object;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<int, std::optional<Result<Object>>>> cache_;
};

template <typename Wrapper>
class ForgetsDeletes : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Status Delete(const std::string&) override { return Status::Ok(); }
};

template <typename Wrapper>
class ListsOutOfOrder : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Result<Listing> List(const std::string& prefix, const std::string& after, int limit) override {
    STOKER_ASSIGN(Listing listing, Wrapper::List(prefix, after, limit));
    if (listing.objects.size() > 2) std::swap(listing.objects[0], listing.objects[1]);
    return listing;
  }
};

template <typename Wrapper>
class DropsAPagesLast : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Result<Listing> List(const std::string& prefix, const std::string& after, int limit) override {
    STOKER_ASSIGN(Listing listing, Wrapper::List(prefix, after, limit));
    if (!listing.next.empty() && listing.objects.size() > 1) listing.objects.pop_back();
    return listing;
  }
};

template <typename Wrapper>
class TakesAnyKey : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    return Wrapper::Put(key.empty() ? "empty" : key, data, condition);
  }
};

template <typename Wrapper>
class PublishesEarly : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                              const Condition& condition) override {
    (void)Wrapper::Put(key, "");
    return Wrapper::BeginUpload(key, condition);
  }
};

// Loses what it reads last.
template <typename Wrapper>
class ServesLess : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Result<std::unique_ptr<Download>> OpenDownload(const std::string& key) override {
    STOKER_ASSIGN(auto download, Wrapper::OpenDownload(key));
    return std::unique_ptr<Download>(std::make_unique<Short>(std::move(download)));
  }

 private:
  class Short : public Download {
   public:
    explicit Short(std::unique_ptr<Download> inner) : inner_(std::move(inner)) {}
    const ObjectInfo& info() const override { return inner_->info(); }
    Result<int64_t> Read(char* buffer, int64_t size) override {
      STOKER_ASSIGN(const int64_t got, inner_->Read(buffer, size));
      at_ += got;
      return at_ == info().size && got > 1 ? got - 1 : got;
    }

   private:
    std::unique_ptr<Download> inner_;
    int64_t at_ = 0;
  };
};

// Sends a write on a condition again when its answer is lost: it is refused by itself.
template <typename Wrapper>
class RepeatsConditions : public Wrapper {
 public:
  explicit RepeatsConditions(ObjectStore& inner)
      : Wrapper(static_cast<ObjectStore&>(faulty_)), faulty_(inner, 1, Plan()) {}
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    while (true) {
      auto put = Wrapper::Put(key, data, condition);
      if (!put.status().Is(Code::kTimeout)) return put;
    }
  }

 private:
  static FaultPlan Plan() {
    FaultPlan plan;
    plan.after = 200;
    plan.only = [](StoreCall call, const std::string&) { return call == StoreCall::kPut; };
    return plan;
  }
  FaultyStore faulty_;
};

// The wrappers of store/, as they are when they do nothing but their work.
class Faultless : public FaultyStore {
 public:
  explicit Faultless(ObjectStore& inner) : FaultyStore(inner, 1, {}) {}
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

template <typename Wrapper>
class ObjectStoreLiars : public ::testing::Test {};
using Wrappers = ::testing::Types<ForwardingStore, CountedStore, Faultless>;
TYPED_TEST_SUITE(ObjectStoreLiars, Wrappers);

TYPED_TEST(ObjectStoreLiars, AreFoundOut) {
  EXPECT_TRUE(FoundOutBy<IgnoresConditions<TypeParam>>("CreatesOnce"));
  EXPECT_TRUE(FoundOutBy<IgnoresConditions<TypeParam>>("ComparesAndSwaps"));
  EXPECT_TRUE(FoundOutBy<ChecksThenWrites<TypeParam>>("ThreadsIncrement"));
  EXPECT_TRUE(FoundOutBy<ChecksThenWrites<TypeParam>>("ThreadsCreateOnce"));
  EXPECT_TRUE(FoundOutBy<RepeatsConditions<TypeParam>>("ThreadsCreateOnce"));
  EXPECT_TRUE(FoundOutBy<TearsData<TypeParam>>("ReadersSeeWholes"));
  EXPECT_TRUE(FoundOutBy<NamesVersionsByContent<TypeParam>>("VersionsNeverRepeat"));
  EXPECT_TRUE(FoundOutBy<ReadsFromCache<TypeParam>>("ComparesAndSwaps"));
  EXPECT_TRUE(FoundOutBy<ForgetsDeletes<TypeParam>>("DeletesWhole"));
  EXPECT_TRUE(FoundOutBy<ListsOutOfOrder<TypeParam>>("PrefixesAndPages"));
  EXPECT_TRUE(FoundOutBy<DropsAPagesLast<TypeParam>>("PagesJoin"));
  EXPECT_TRUE(FoundOutBy<TakesAnyKey<TypeParam>>("RefusesBadKeys"));
  EXPECT_TRUE(FoundOutBy<PublishesEarly<TypeParam>>("Uploads"));
  EXPECT_TRUE(FoundOutBy<ServesLess<TypeParam>>("DownloadsOneVersion"));
}

TYPED_TEST(ObjectStoreLiars, TheHonestAreNot) {
  for (const Check& check : AllChecks()) {
    if (check.processes) continue;
    EXPECT_FALSE(FoundOutBy<TypeParam>(check.name, 1)) << check.name;
  }
}

}  // namespace
}  // namespace stoker::contract
