// SPDX-License-Identifier: Apache-2.0
// The store port: a bucket, or a folder that behaves like one. Everything durable goes through it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/object_info.h"
#include "port/object_parts.h"

namespace stoker {

struct Object {
  ObjectInfo info;
  std::string data;
  WallTime store_now;  // the store's clock when it answered (HTTP Date); age = now - last_modified
};

struct Listing {
  std::vector<ObjectInfo> objects;  // ordered by key, bytewise
  std::string next;                 // pass as `after` for the next page; "" = this was the last
  WallTime store_now;
};

// One object being written in pieces, of any size. Nothing is visible before Commit returned ok;
// destroying it without Commit aborts. Not thread-safe.
class Upload {
 public:
  virtual ~Upload() = default;
  virtual Status Write(std::string_view bytes) = 0;
  // Data copied by the kernel where possible: all of [0, size) of `fd`, which stays the caller's.
  virtual Status WriteFile(int fd, int64_t size) = 0;
  // kExists / kConflict when `condition` (given at Begin) does not hold.
  virtual Result<Version> Commit() = 0;
};

// One object being read. Not thread-safe.
class Download {
 public:
  virtual ~Download() = default;
  virtual const ObjectInfo& info() const = 0;
  // Up to `size` bytes; 0 at the end.
  virtual Result<int64_t> Read(char* buffer, int64_t size) = 0;
};

// What a caller must know of the store to choose its intervals; by value, no questions asked later.
struct StoreTraits {
  bool requests_are_free = false;        // a local folder: poll and flush often
  Duration poll = Duration::Seconds(2);  // how often to look for changes
  // The same while a job runs undisturbed: at its record alone, and at all of it; see
  // agent/look_pace.h. `look` stays well below the gap after which silence no longer counts.
  Duration glance = Duration::Seconds(8);
  Duration look = Duration::Seconds(30);
  Duration flush = Duration::Seconds(30);  // longest time a log line waits when nobody follows
  Duration follow_flush = Duration::Seconds(1);
  Duration follow = Duration::Ms(600);      // how often a follower looks for lines
  Duration report = Duration::Seconds(30);  // how often an agent reports without news
  Duration usage = Duration::Minutes(1);    // how often it writes down what its node uses
  // Objects of more bytes are worth several parts at once; 0 = none is.
  int64_t part_bytes = 0;
  // Many small objects are written faster by PutUnsettled and one Settle than by PutFrom.
  bool settles = false;
};

// Which unfinished uploads are swept.
struct Sweep {
  // Of which keys; empty: of all. Asked where uploads of other programs can be seen; where only
  // stoker's own can, as in Google Cloud Storage, all are taken.
  std::function<bool(const std::string& key)> taken;
  bool dry_run = false;  // they are only counted
};

// Keys are '/'-separated and valid by IsSafeRelativePath. Every store takes 900 bytes of them, and
// those of whoever else writes to a bucket may be longer: what a store cannot hold is kInvalid. All
// calls are thread-safe and block. Adapters never retry by themselves. After kUnavailable or
// kTimeout a write may or may not have taken effect.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  virtual const StoreTraits& traits() const = 0;
  // Where it is, for people and for other processes to open the same: "/path",
  // "s3://bucket/prefix".
  virtual std::string url() const = 0;

  // kNotFound when there is none. Reads what was last committed before the call (strong).
  virtual Result<Object> Get(const std::string& key) = 0;
  // Atomic: readers see the old or the new, never a part. kExists when Absent does not hold,
  // kConflict when Match does not hold, kNotFound when Match names a missing key.
  virtual Result<Version> Put(const std::string& key, std::string_view data,
                              const Condition& condition = {}) = 0;
  virtual Result<ObjectInfo> Head(const std::string& key) = 0;
  // Ok also when there was none.
  virtual Status Delete(const std::string& key) = 0;
  // Keys that start with `prefix` (any string, not only a folder) and sort after `after`.
  virtual Result<Listing> List(const std::string& prefix, const std::string& after = "",
                               int limit = 1000) = 0;
  // The keys that start with `prefix`, in order, all of them, without a look at what each is: one
  // that is just being deleted may be among them. The default is List.
  virtual Result<std::vector<std::string>> ListKeys(const std::string& prefix);
  virtual Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                                      const Condition& condition = {}) = 0;
  virtual Result<std::unique_ptr<Download>> OpenDownload(const std::string& key) = 0;

  // ---- for transfers; the defaults are made of the calls above ----

  // Of the version that `info` (from List, Head or Get) names; the default notices another one by
  // its size and version when it begins to read.
  virtual Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info);
  // The whole of `from` as one object, at once. Its Confirm must hold before the object is visible,
  // as far as it can be known by then.
  virtual Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from,
                                     const Condition& condition = {});
  // PutFrom of one of many, without a condition. A power cut may lose or damage it until Settle has
  // returned ok, so nothing may name it before.
  virtual Result<ObjectInfo> PutUnsettled(const std::string& key, ObjectReader& from) {
    return PutFrom(key, from);
  }
  // What was written so far survives a power cut.
  virtual Status Settle() { return Status::Ok(); }
  // `size` bytes in parts. `resume` is the id of an earlier one of the same key, size and source,
  // or "": what cannot be gone on with is begun anew. `executable` as far as the store keeps it.
  virtual Result<std::unique_ptr<PartsUpload>> BeginParts(const std::string& key, int64_t size,
                                                          const Condition& condition = {},
                                                          const std::string& resume = "",
                                                          bool executable = false);
  // Delete of each, whatever becomes of the others; the result is those that failed. Where the
  // store itself does not answer, or denies all, the rest is not tried and fails with that.
  [[nodiscard]] virtual std::vector<OddKey> DeleteAll(const std::vector<std::string>& keys);
  // How often the service has asked to slow down so far.
  virtual int64_t throttled() const { return 0; }

  // Takes away what uploads whose writers died have left, where that costs money and does not go by
  // itself: all that was begun longer than `age` ago, by the store's clock, also by somebody who is
  // slow. Returns how many.
  virtual Result<int> SweepUnfinished(Duration age, const Sweep& sweep = {}) {
    (void)age;
    (void)sweep;
    return 0;
  }
};

// All pages of List, in order. Stops at the first failure or when `each` returns a failure.
Status ListAll(ObjectStore& store, const std::string& prefix,
               const std::function<Status(const ObjectInfo&)>& each);

}  // namespace stoker
