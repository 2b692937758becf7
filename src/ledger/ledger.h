// SPDX-License-Identifier: Apache-2.0
// A ledger: the durable records of one store. Holds what every room below it needs: the store, a
// clock for intervals, a source of nonces, and the ledger's random id.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/prng.h"
#include "base/status.h"
#include "port/cache.h"
#include "port/clock.h"
#include "port/object_store.h"

namespace stoker {

// kProbe: a ledger is made only where ProbeConditions (ledger/probe.h) finds nothing wrong.
enum class NewLedger { kTrust, kProbe };

// Thread-safe. Store and clock must outlive it.
class Ledger {
 public:
  // Reads ledger.json, or makes it (several may try at once: one wins). `seed` comes from the
  // kernel: nonces of two processes must differ. kTooNew: a newer stoker made this ledger.
  static Result<std::unique_ptr<Ledger>> Open(ObjectStore& store, Clock& clock, uint64_t seed,
                                              NewLedger when_new = NewLedger::kTrust);

  ObjectStore& store() { return store_; }
  Clock& clock() { return clock_; }
  const std::string& id() const { return id_; }
  // Where copies of what never changes may lie on this machine; null = nowhere. Must outlive the
  // ledger; set it before other threads know the ledger.
  Cache* cache() const { return cache_; }
  // The same for what people say of jobs (ledger/segments/labels.h).
  Cache* labels_cache() const { return labels_cache_; }
  void UseCache(Cache* cache, Cache* labels = nullptr) {
    cache_ = cache;
    labels_cache_ = labels;
  }
  // 16 random characters, never the same twice.
  std::string Nonce();
  // A fresh job id: 8 random characters.
  std::string NewJobId();

 private:
  Ledger(ObjectStore& store, Clock& clock, uint64_t seed)
      : store_(store), clock_(clock), prng_(seed) {}

  ObjectStore& store_;
  Clock& clock_;
  std::string id_;
  Cache* cache_ = nullptr;
  Cache* labels_cache_ = nullptr;
  std::mutex mutex_;
  Prng prng_;
};

}  // namespace stoker
