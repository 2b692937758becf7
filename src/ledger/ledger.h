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

// Where there is no ledger.json, one is made; kProbe: only where ProbeConditions (ledger/probe.h)
// finds nothing wrong; kNever: none is, and that is kNotFound.
enum class NewLedger { kTrust, kProbe, kNever };

// Thread-safe. Store and clock must outlive it.
class Ledger {
 public:
  // Reads ledger.json, or makes it (several may try at once: one wins). `seed` comes from the
  // kernel: nonces of two processes must differ. kTooNew: a newer stoker made this ledger.
  static Result<std::unique_ptr<Ledger>> Open(ObjectStore& store, Clock& clock, uint64_t seed,
                                              NewLedger when_new = NewLedger::kTrust);
  // Writes a ledger.json that is missing again, with the id that was found elsewhere, unless
  // somebody else was quicker: what is there then counts.
  static Result<std::unique_ptr<Ledger>> Restore(ObjectStore& store, Clock& clock, uint64_t seed,
                                                 const std::string& id);

  ObjectStore& store() { return store_; }
  Clock& clock() { return clock_; }
  const std::string& id() const { return id_; }
  // By this call of Open, as far as this process can tell.
  bool made() const { return made_; }
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
  // ledger.json as it is now.
  Result<std::string> ReadId();
  // Ok also where somebody else was quicker.
  Status WriteId(const std::string& id);
  Status Take(Result<std::string> id);

  ObjectStore& store_;
  Clock& clock_;
  std::string id_;
  bool made_ = false;
  Cache* cache_ = nullptr;
  Cache* labels_cache_ = nullptr;
  std::mutex mutex_;
  Prng prng_;
};

}  // namespace stoker
