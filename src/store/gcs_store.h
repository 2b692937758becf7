// SPDX-License-Identifier: Apache-2.0
// The store port over a bucket of Google Cloud Storage. Versions are generations. A Put is one
// request; an upload of more than one chunk is a resumable upload, whose condition is judged when
// it begins and again when it ends.
//
// Reads, lists and conditions are strongly consistent ("Cloud Storage consistency"): nothing is
// stale, unless somebody made the bucket's objects cacheable by the public. What dead writers leave
// (resumable sessions) goes by itself after a week and is not charged: SweepUnfinished does
// nothing. One object can be written about once a second: more is refused with 429, and sent again.
#pragma once

#include <memory>
#include <string>

#include "port/object_store.h"
#include "store/gcs_client.h"
#include "store/gcs_upload.h"
#include "store/retrying_carrier.h"

namespace stoker {

struct GcsStoreOptions {
  gcs::Options client;
  std::string prefix;  // "" or "a/b": what all keys lie below
  // Of resumable uploads; a multiple of 256 KiB. One is held in memory.
  int64_t chunk_bytes = 16 << 20;
  RetryPolicy retry;
  uint64_t seed = 1;  // of the pauses between tries
};

// Thread-safe.
class GcsStore : public ObjectStore {
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

 private:
  GcsStore(GcsStoreOptions options, std::unique_ptr<gcs::Client> client);
  Status CheckKey(const std::string& key) const;

  const GcsStoreOptions options_;
  const std::string root_;  // "" or "a/b/"
  const std::string url_;
  StoreTraits traits_;
  std::unique_ptr<gcs::Client> client_;
  bucket::RetryingCarrier carrier_;
  const gcs::Bucket bucket_{carrier_, options_.client.bucket};
};

}  // namespace stoker
