// SPDX-License-Identifier: Apache-2.0
// A simulated bucket: the object store port with latency and everything that services are known to
// do to their clients. Bucket is the service; BucketClient is one process's way to it.
//
// What it may be stale on: nothing. S3 and GCS read, list and compare strongly (docs/decisions).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "port/object_store.h"
#include "sim/clock.h"
#include "sim/scheduler.h"

namespace stoker::sim {

// In a thousand requests, while it holds.
struct BucketFaults {
  int before = 0;  // no effect, kUnavailable (5xx, connection refused)
  int after = 0;   // took effect, kTimeout
  int late = 0;    // kTimeout, and takes effect up to `late_ms` after that was said (writes only)
  int throttled = 0;  // no effect, kBusy (503 SlowDown, 429, S3's 409 of racing conditional writes)
  int slow = 0;       // takes up to `slow_ms`
  int torn = 0;       // a download ends early or an upload loses its connection: kUnavailable
  int64_t late_ms = 20'000;
  int64_t slow_ms = 30'000;
};

// A machine's way to the services. Shared by the processes on it; outlives them.
struct Link {
  int64_t cut_until = 0;  // true time; requests fail with kUnavailable or kTimeout until then
};

// What one write changed. `before` and `after` are empty when there was, or is, none.
struct BucketChange {
  std::string key;
  std::shared_ptr<const std::string> before;
  std::shared_ptr<const std::string> after;
  std::string writer;  // name of the process
};

struct BucketCounts {
  int64_t gets = 0;
  int64_t puts = 0;
  int64_t heads = 0;
  int64_t lists = 0;
  int64_t deletes = 0;
  int64_t bytes_up = 0;
  int64_t bytes_down = 0;
  int64_t all() const { return gets + puts + heads + lists + deletes; }
};

class Bucket {
 public:
  Bucket(Scheduler& scheduler, Prng& prng);

  struct Entry {
    ObjectInfo info;
    std::shared_ptr<const std::string> data;
  };
  // For checkers: what is there, without a request.
  const std::map<std::string, Entry>& objects() const { return objects_; }
  const Entry* Find(const std::string& key) const;
  // The store's clock: true time.
  WallTime Now() const { return {kEpochMs + scheduler_.now()}; }
  const BucketCounts& counts() const { return counts_; }
  // Puts it there without a request, as a hand with a console would: damage, garbage, other
  // versions' objects. An empty pointer deletes.
  void Plant(const std::string& key, std::shared_ptr<const std::string> data);

  BucketFaults faults;      // of now; whoever runs the faults changes it
  int64_t away_until = 0;   // true time; nobody reaches it until then
  int64_t latency_low = 5;  // of one request there and back, without its bytes
  int64_t latency_high = 60;
  int64_t bytes_per_ms = 100'000;
  StoreTraits traits;  // what every client says of it
  // Called right after each change, before anybody else runs.
  std::function<void(const BucketChange&)> changed;

 private:
  friend class BucketClient;
  friend class BucketUpload;
  friend class BucketDownload;
  Result<Version> Store(const std::string& key, std::shared_ptr<const std::string> data,
                        const Condition& condition, const std::string& writer);
  void Erase(const std::string& key, const std::string& writer);

  Scheduler& scheduler_;
  Prng& prng_;
  std::map<std::string, Entry> objects_;
  int64_t writes_ = 0;
  BucketCounts counts_;
};

// Requests sleep in the calling fiber, take effect at one moment in between, and can be killed with
// the process before or after that. Once the process is dead its requests have no effect.
class BucketClient : public ObjectStore {
 public:
  // `link` may be null: always connected.
  BucketClient(Bucket& bucket, Scheduler& scheduler, Prng& prng, std::string process, Link* link);
  const StoreTraits& traits() const override;
  std::string url() const override { return "sim:"; }
  Result<Object> Get(const std::string& key) override;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override;
  Result<ObjectInfo> Head(const std::string& key) override;
  Status Delete(const std::string& key) override;
  Result<Listing> List(const std::string& prefix, const std::string& after = "",
                       int limit = 1000) override;
  // WriteFile refuses (kInvalid): simulated files have no descriptors.
  Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                              const Condition& condition = {}) override;
  Result<std::unique_ptr<Download>> OpenDownload(const std::string& key) override;

  // Requests of this process alone.
  const BucketCounts& counts() const { return counts_; }

 private:
  friend class BucketUpload;
  friend class BucketDownload;
  enum class Fault { kNone, kBefore, kAfter, kLate, kThrottled };
  // Waits the way there (`bytes` with it) and says what becomes of the request. kNone and kAfter:
  // the caller carries the effect out now, then calls Return.
  Fault Send(int64_t bytes, bool write);
  // Waits the way back; fails when the answer is lost.
  Status Return(Fault fault, const std::string& key, int64_t bytes);
  bool Cut() const;

  Bucket& bucket_;
  Scheduler& scheduler_;
  Prng& prng_;
  const std::string process_;
  Link* const link_;
  BucketCounts counts_;
};

}  // namespace stoker::sim
