// SPDX-License-Identifier: Apache-2.0
#include "ledger/probe.h"

#include <gtest/gtest.h>

#include "ledger/ledger.h"
#include "store/forwarding.h"
#include "test/contract/ledger_kit.h"
#include "test/kit/memory_store.h"

namespace stoker {
namespace {

// A service that takes every write, or refuses all that carry a condition.
class Careless : public ForwardingStore {
 public:
  Careless(ObjectStore& inner, Condition::Kind ignored, bool refuses)
      : ForwardingStore(inner), ignored_(ignored), refuses_(refuses) {}
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    if (condition.kind != ignored_) return ForwardingStore::Put(key, data, condition);
    if (refuses_) return Status(Code::kInvalid, "NotImplemented");
    return ForwardingStore::Put(key, data, Condition::None());
  }

 private:
  const Condition::Kind ignored_;
  const bool refuses_;
};

TEST(Probe, AGoodStoreIsLeftAsItWas) {
  MemoryStore store;
  const Status status = ProbeConditions(store, "probe/x");
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(store.List("")->objects.empty());
}

TEST(Probe, WhatIgnoresOrRefusesConditionsIsNoStore) {
  for (const auto kind : {Condition::Kind::kAbsent, Condition::Kind::kMatch}) {
    for (const bool refuses : {false, true}) {
      MemoryStore memory;
      Careless store(memory, kind, refuses);
      const Status status = ProbeConditions(store, "probe/x");
      EXPECT_EQ(status.code(), Code::kInvalid) << status.ToString();
      EXPECT_NE(status.message().find("does not honour conditional writes"), std::string::npos);
      EXPECT_TRUE(memory.List("")->objects.empty());
    }
  }
}

TEST(Probe, WhatTakesNoWriteAtAllSaysWhy) {
  class NoBucket : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<Version> Put(const std::string&, std::string_view, const Condition&) override {
      return Status(Code::kInvalid, "no such bucket", "Make it");
    }
  };
  MemoryStore memory;
  NoBucket store(memory);
  EXPECT_EQ(ProbeConditions(store, "probe/x").ToString(), "no such bucket. Make it");
}

// A write that took effect without an answer is sent again by whoever retries, and is refused then.
TEST(Probe, ALostAnswerIsNoVerdict) {
  class Deaf : public ForwardingStore {
   public:
    Deaf(ObjectStore& inner, Condition::Kind unheard) : ForwardingStore(inner), unheard_(unheard) {}
    Result<Version> Put(const std::string& key, std::string_view data,
                        const Condition& condition) override {
      auto put = ForwardingStore::Put(key, data, condition);
      if (condition.kind != unheard_ || !put.ok() || ++lost_ > 2) return put;
      return ForwardingStore::Put(key, data, condition);
    }

   private:
    const Condition::Kind unheard_;
    int lost_ = 0;
  };
  for (const auto kind : {Condition::Kind::kAbsent, Condition::Kind::kMatch}) {
    MemoryStore memory;
    Deaf store(memory, kind);
    const Status status = ProbeConditions(store, "probe/x");
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(memory.List("")->objects.empty());
  }
}

// Who may create, and may not overwrite, is told so, and not that the store is no good.
TEST(Probe, ADenialIsSaidAsWhatItIs) {
  class NoOverwrite : public ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<Version> Put(const std::string& key, std::string_view data,
                        const Condition& condition) override {
      if (Head(key).ok()) return Status(Code::kDenied, "s3:PutObject is not allowed");
      return ForwardingStore::Put(key, data, condition);
    }
  };
  MemoryStore memory;
  NoOverwrite store(memory);
  const Status status = ProbeConditions(store, "probe/x");
  EXPECT_EQ(status.code(), Code::kDenied) << status.ToString();
  EXPECT_EQ(status.message(), "s3:PutObject is not allowed");
}

// A ledger is not begun where it could not be kept; one that is there is not probed again.
TEST(Probe, NoLedgerIsMadeOnSuchAStore) {
  MemoryStore memory;
  StillClock clock;
  Careless store(memory, Condition::Kind::kMatch, false);
  EXPECT_EQ(Ledger::Open(store, clock, 1, NewLedger::kProbe).code(), Code::kInvalid);
  EXPECT_TRUE(memory.List("")->objects.empty());
  EXPECT_TRUE(Ledger::Open(memory, clock, 1, NewLedger::kProbe).ok());
  EXPECT_TRUE(Ledger::Open(store, clock, 2, NewLedger::kProbe).ok());
}

}  // namespace
}  // namespace stoker
