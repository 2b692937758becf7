// SPDX-License-Identifier: Apache-2.0
// The store port over a bucket of Google Cloud Storage. Versions are generations. A Put is one
// request; an upload of more than one chunk is a resumable upload, whose condition is judged when
// it begins and again when it ends; BeginParts writes parts that are composed (gcs_parts.h).
//
// Reads, lists and conditions are strongly consistent ("Cloud Storage consistency"): nothing is
// stale, unless somebody made the bucket's objects cacheable by the public. What dead writers leave
// of resumable sessions goes by itself after a week and is not charged; parts are swept. One object
// can be written about once a second: more is refused with 429, and sent again.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "port/object_store.h"
#include "port/pause.h"
#include "store/bucket/retrying_carrier.h"
#include "store/gcs/gcs_client.h"
#include "store/gcs/gcs_upload.h"

namespace stoker {

struct GcsStoreOptions {
  gcs::Options client;
  std::string prefix;  // "" or "a/b": what all keys lie below
  // Of resumable uploads; a multiple of 256 KiB. One is held in memory.
  int64_t chunk_bytes = 16 << 20;
  int64_t part_bytes = 16 << 20;  // of uploads in parts, each of which is an object for a while
  RetryPolicy retry;
  uint64_t seed = 1;  // of the pauses between tries
  // Nothing is tried again once it says so; thread-safe, may be empty.
  std::function<bool()> stopped;
  // What browsers are told that the object of a Put is ("text/html"), by its key; they then ask
  // anew each time. "" = nothing. Empty: of no object.
  std::function<std::string(const std::string& key)> type_of;
};

// Thread-safe.
class GcsStore : public ObjectStore, public Pausable {
 public:
  // Sends nothing yet.
  static Result<std::unique_ptr<GcsStore>> Open(GcsStoreOptions options);
  ~GcsStore() override;

  const StoreTraits& traits() const override { return traits_; }
  std::string url() const override { return url_; }
  Result<Object> Get(const std::string& key) override;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override;
  Result<ObjectInfo> Head(const std::string& key) override;
  Status Delete(const std::string& key) override;
  Result<Listing> List(const std::string& prefix, const std::string& after = "",
                       int limit = 1000) override;
  Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                              const Condition& condition = {}) override;
  Result<std::unique_ptr<Download>> OpenDownload(const std::string& key) override;
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override;
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from,
                             const Condition& condition = {}) override;
  Result<std::unique_ptr<PartsUpload>> BeginParts(const std::string& key, int64_t size,
                                                  const Condition& condition = {},
                                                  const std::string& resume = "",
                                                  bool executable = false) override;
  std::vector<OddKey> DeleteAll(const std::vector<std::string>& keys) override;
  int64_t throttled() const override { return carrier_.throttled(); }
  void Pause(Duration time) override { (void)bucket::SleepUnless(options_.stopped, time); }
  Result<int> SweepUnfinished(Duration age, const Sweep& sweep = {}) override;

 private:
  GcsStore(GcsStoreOptions options, std::unique_ptr<gcs::Client> client);
  Status CheckKey(const std::string& key) const;
  Result<bool> PartsPay();

  const GcsStoreOptions options_;
  const std::string root_;  // "" or "a/b/"
  const std::string url_;
  StoreTraits traits_;
  std::unique_ptr<gcs::Client> client_;
  bucket::RetryingCarrier carrier_;
  const gcs::Bucket bucket_{carrier_, options_.client.bucket};
  std::mutex parts_mutex_;
  std::optional<bool> parts_pay_;  // unset: nobody has looked yet
};

}  // namespace stoker
