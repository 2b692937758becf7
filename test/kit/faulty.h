// SPDX-License-Identifier: Apache-2.0
// Makes a store fail on purpose: before a request took effect, after it, or slowly. Draws come from
// a Prng, so that a seed replays a run (with one thread).
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/prng.h"
#include "test/kit/forwarding.h"

namespace stoker {

enum class StoreCall { kGet, kPut, kHead, kDelete, kList };

struct FaultPlan {
  // In a thousand requests. "Before" had no effect and says kUnavailable; "after" did take effect
  // and says kTimeout; "throttled" had no effect and says kBusy. A read that fails has no effect.
  int before = 0;
  int after = 0;
  int throttled = 0;
  Duration latency;                     // upper end; each request draws below it
  std::function<void(Duration)> sleep;  // unset: latency is only drawn, never waited
  std::function<bool(StoreCall, const std::string& key)> only;  // unset: every request
};

// Thread-safe if the inner store is.
class FaultyStore : public ForwardingStore {
 public:
  FaultyStore(ObjectStore& inner, uint64_t seed, FaultPlan plan)
      : ForwardingStore(inner), prng_(seed), plan_(std::move(plan)) {}

  void SetPlan(FaultPlan plan) {
    const std::lock_guard lock(mutex_);
    plan_ = std::move(plan);
  }
  int64_t injected() const {
    const std::lock_guard lock(mutex_);
    return injected_;
  }

  Result<Object> Get(const std::string& key) override {
    return Run(StoreCall::kGet, key, [&] { return inner_.Get(key); });
  }
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override {
    return Run(StoreCall::kPut, key, [&] { return inner_.Put(key, data, condition); });
  }
  Result<ObjectInfo> Head(const std::string& key) override {
    return Run(StoreCall::kHead, key, [&] { return inner_.Head(key); });
  }
  Status Delete(const std::string& key) override {
    return Run(StoreCall::kDelete, key, [&] { return inner_.Delete(key); });
  }
  Result<Listing> List(const std::string& prefix, const std::string& after = "",
                       int limit = 1000) override {
    return Run(StoreCall::kList, prefix, [&] { return inner_.List(prefix, after, limit); });
  }
  Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                              const Condition& condition = {}) override {
    STOKER_ASSIGN(auto upload, inner_.BeginUpload(key, condition));
    return std::unique_ptr<Upload>(new FaultyUpload(*this, key, std::move(upload)));
  }
  Result<std::unique_ptr<Download>> OpenDownload(const std::string& key) override {
    return Run(StoreCall::kGet, key, [&] { return inner_.OpenDownload(key); });
  }

  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override {
    STOKER_ASSIGN(auto reader, inner_.OpenReader(info));
    return std::unique_ptr<ObjectReader>(new FaultyReader(*this, std::move(reader)));
  }
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from,
                             const Condition& condition = {}) override {
    return Run(StoreCall::kPut, key, [&] { return inner_.PutFrom(key, from, condition); });
  }
  Result<std::unique_ptr<PartsUpload>> BeginParts(const std::string& key, int64_t size,
                                                  const Condition& condition = {},
                                                  const std::string& resume = "",
                                                  bool executable = false) override {
    STOKER_ASSIGN(auto parts, inner_.BeginParts(key, size, condition, resume, executable));
    return std::unique_ptr<PartsUpload>(new FaultyParts(*this, key, std::move(parts)));
  }
  std::vector<OddKey> DeleteAll(const std::vector<std::string>& keys) override {
    std::vector<OddKey> failed;
    const Status all = Run(StoreCall::kDelete, keys.empty() ? "" : keys.front(), [&] {
      failed = inner_.DeleteAll(keys);
      return Status::Ok();
    });
    if (all.ok()) return failed;
    failed.clear();
    for (const std::string& key : keys) failed.push_back({key, all});
    return failed;
  }

 private:
  enum class Fault { kNone, kBefore, kAfter, kThrottled };

  // An upload counts as one write, at its Commit.
  class FaultyUpload : public ForwardingUpload {
   public:
    FaultyUpload(FaultyStore& store, std::string key, std::unique_ptr<Upload> inner)
        : ForwardingUpload(std::move(inner)), store_(store), key_(std::move(key)) {}
    Result<Version> Commit() override {
      return store_.Run(StoreCall::kPut, key_, [&] { return inner_->Commit(); });
    }

   private:
    FaultyStore& store_;
    std::string key_;
  };

  class FaultyReader : public ForwardingReader {
   public:
    FaultyReader(FaultyStore& store, std::unique_ptr<ObjectReader> inner)
        : ForwardingReader(std::move(inner)), store_(store) {}
    Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
      return store_.Run(StoreCall::kGet, info().key,
                        [&] { return inner_->Read(offset, size, take); });
    }

   private:
    FaultyStore& store_;
  };

  // Every part counts as a write, and so does the Commit.
  class FaultyParts : public ForwardingParts {
   public:
    FaultyParts(FaultyStore& store, std::string key, std::unique_ptr<PartsUpload> inner)
        : ForwardingParts(std::move(inner)), store_(store), key_(std::move(key)) {}
    Result<PartSum> WritePart(int n, ObjectReader& from) override {
      return store_.Run(StoreCall::kPut, key_, [&] { return inner_->WritePart(n, from); });
    }
    Result<ObjectInfo> Commit() override {
      return store_.Run(StoreCall::kPut, key_, [&] { return inner_->Commit(); });
    }

   private:
    FaultyStore& store_;
    std::string key_;
  };

  Fault Draw(StoreCall call, const std::string& key) {
    Duration wait;
    std::function<void(Duration)> sleep;
    Fault fault = Fault::kNone;
    {
      const std::lock_guard lock(mutex_);
      if (plan_.only && !plan_.only(call, key)) return Fault::kNone;
      const int draw = static_cast<int>(prng_.Below(1000));
      if (plan_.latency.ms > 0) wait = Duration::Ms(prng_.Between(0, plan_.latency.ms));
      if (draw < plan_.before)
        fault = Fault::kBefore;
      else if (draw < plan_.before + plan_.after)
        fault = Fault::kAfter;
      else if (draw < plan_.before + plan_.after + plan_.throttled)
        fault = Fault::kThrottled;
      if (fault != Fault::kNone) ++injected_;
      sleep = plan_.sleep;
    }
    if (sleep && wait.ms > 0) sleep(wait);
    return fault;
  }

  template <typename Call>
  auto Run(StoreCall call, const std::string& key, Call&& request) -> decltype(request()) {
    switch (Draw(call, key)) {
      case Fault::kBefore:
        return Status(Code::kUnavailable, key + ": injected: not sent");
      case Fault::kThrottled:
        return Status(Code::kBusy, key + ": injected: slow down");
      case Fault::kAfter: {
        (void)request();
        return Status(Code::kTimeout, key + ": injected: the answer was lost");
      }
      case Fault::kNone:
        break;
    }
    return request();
  }

  mutable std::mutex mutex_;
  Prng prng_;
  FaultPlan plan_;
  int64_t injected_ = 0;
};

}  // namespace stoker
