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
#include "sim/time/clock.h"
#include "sim/time/scheduler.h"

namespace stoker::sim {

// In a thousand requests, while it holds. A request suffers one of them at most, and
// may be slow besides.
struct BucketFaults {
  int before = 0;  // no effect, kUnavailable (5xx, connection refused)
  int after = 0;   // took effect, kTimeout
  // kTimeout, and takes effect up to `late_ms` after that was said (writes only), with its
  // condition checked then, and also when the process that sent it has died meanwhile: it was on
  // the wire.
  int late = 0;
  int denied = 0;     // no effect, kDenied (403: credentials that a service forgets for a moment)
  int throttled = 0;  // no effect, kBusy (503 SlowDown, 429, S3's 409 of racing conditional writes)
  int slow = 0;       // takes up to `slow_ms` longer
  // A download ends early or an upload loses its connection: kUnavailable. Of such writes some took
  // effect, as the connection was lost after their last byte.
  int torn = 0;
  int64_t late_ms = 20'000;
  int64_t slow_ms = 30'000;
};

// A machine's way to the services. Shared by the processes on it; outlives them.
struct Link {
  // True time; until then requests fail with kUnavailable or kTimeout: those that were on their way
  // there without effect, those that were on their way back with it.
  int64_t cut_until = 0;
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
  // versions' objects, what has been there for `age_ms`. An empty pointer deletes.
  void Plant(const std::string& key, std::shared_ptr<const std::string> data, int64_t age_ms = 0);

  // What it says no to until then (true time), also for good: requests for keys that hold `part`.
  struct Refusal {
    std::string part;
    bool writes = true;  // or what reads the object
    Code code = Code::kDenied;
    int64_t until = 0;
  };
  std::vector<Refusal> refusals;
  Status Refused(const std::string& key, bool writes) const;

  BucketFaults faults;      // of now; whoever runs the faults changes it
  int64_t away_until = 0;   // true time; nobody reaches it until then
  int64_t away_since = 0;   // the newest time that it is, or was, away
  int64_t latency_low = 5;  // of one request there and back, without its bytes
  int64_t latency_high = 60;
  int64_t bytes_per_ms = 100'000;
  int64_t timeout_ms = 10'000;  // how long clients wait at most for an answer that does not come
  int page = 1000;              // objects in one answer to List at most; services may give fewer
  StoreTraits traits;           // what every client says of it
  // Called right after each change, before anybody else runs.
  std::function<void(const BucketChange&)> changed;

 private:
  friend class BucketClient;
  friend class BucketUpload;
  friend class BucketDownload;
  Result<Version> Store(const std::string& key, std::shared_ptr<const std::string> data,
                        const Condition& condition, const std::string& writer);
  Result<Version> Erase(const std::string& key, const std::string& writer);
  // Tells `changed`. Last: it may kill the process that wrote.
  void Tell(const std::string& key, std::shared_ptr<const std::string> before,
            std::shared_ptr<const std::string> after, const std::string& writer);

  Scheduler& scheduler_;
  Prng& prng_;
  std::map<std::string, Entry> objects_;
  int64_t writes_ = 0;
  BucketCounts counts_;
};

// Requests sleep in the calling fiber, take effect at one moment in between, and can be killed with
// the process before or after that. Once the process is dead its requests fail at once without
// effect. Outside of fibers (setting up a world, looking at its end) they take no time and meet no
// faults. One page of List holds Bucket::page objects at most, one Download::Read
// 64 KiB.
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
  // WriteFile reads a file of this machine, which tests have; simulated ones have no descriptors.
  // The upload and the download must not outlive the client.
  Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                              const Condition& condition = {}) override;
  Result<std::unique_ptr<Download>> OpenDownload(const std::string& key) override;

  // Requests of this process alone.
  const BucketCounts& counts() const { return counts_; }

 private:
  friend class BucketUpload;
  friend class BucketDownload;
  enum class Kind { kPut, kDelete, kGet, kHead, kList };
  enum class Fault {
    kNone,
    kRefused,
    kUnheard,
    kUnanswered,
    kLate,
    kThrottled,
    kDenied,
    kTorn,
    kTornLate,
  };
  // One request on its way.
  struct Trip {
    Fault fault = Fault::kNone;
    bool real = false;  // in a living fiber: takes time and can fail
    int64_t back = 0;   // ms that the way back takes
    // Whether it takes effect at the moment after the way there.
    bool arrives() const {
      return fault == Fault::kNone || fault == Fault::kUnanswered || fault == Fault::kTornLate;
    }
  };
  using Effect = std::function<Result<Version>()>;

  // Counts the request, draws what becomes of it and waits the way there. Fails at once, with
  // nothing counted, when the process is dead.
  Result<Trip> Send(Kind kind, int64_t bytes);
  Fault Draw(Kind kind);
  // Waits the way back; fails when the request did or when its answer is lost.
  Status Return(const Trip& trip, int64_t bytes);
  // A whole request that writes. `effect` must hold by value all that it uses.
  Result<Version> Change(Kind kind, int64_t bytes, Effect effect);
  // `bytes` of it are still to be sent.
  Result<Version> Write(const std::string& key, std::shared_ptr<const std::string> data,
                        const Condition& condition, int64_t bytes);
  // Lets the time pass that `bytes` and those in `unpaid` take; what is left of a ms stays there.
  void Carry(int64_t bytes, int64_t* unpaid);
  // Waits for a part of the time in which an answer does not come.
  Status Silence(Trip trip);
  static Status CheckKey(const std::string& key);
  static Status Missing(const std::string& key);
  static Status Lost();
  bool Cut() const;
  // A fiber of a process that is dead.
  bool Dead() const;
  void Count(int64_t BucketCounts::*what, int64_t by);

  Bucket& bucket_;
  Scheduler& scheduler_;
  Prng& prng_;
  const std::string process_;
  Link* const link_;
  BucketCounts counts_;
};

}  // namespace stoker::sim
