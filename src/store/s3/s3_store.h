// SPDX-License-Identifier: Apache-2.0
// The store port over a bucket of S3, or of a service that speaks as S3 does. Versions are ETags,
// as they came, quotes included. A Put is one PUT; an upload of more than one part is a multipart
// upload, whose condition is judged when it is completed.
//
// Reads, lists and conditions are strongly consistent on S3 (since December 2020). What the service
// must have: If-None-Match and If-Match on PutObject and CompleteMultipartUpload; ledger/probe.h
// finds out.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "port/object_store.h"
#include "port/pause.h"
#include "store/bucket/retrying_carrier.h"
#include "store/s3/s3_client.h"

namespace stoker {

struct S3StoreOptions {
  s3::Options client;
  std::string prefix;  // "" or "a/b": what all keys lie below
  // Parts of uploads: so large that 10,000 of them are enough, so small that one is held in memory.
  int64_t part_bytes = 16 << 20;
  int parallel = 4;  // parts of one upload under way at once
  RetryPolicy retry;
  uint64_t seed = 1;  // of the pauses between tries
  // Nothing is tried again once it says so; thread-safe, may be empty.
  std::function<bool()> stopped;
  // What browsers are told that the object of a Put is ("text/html"), by its key; they then ask
  // anew each time. "" = nothing. Empty: of no object.
  std::function<std::string(const std::string& key)> type_of;
};

// Thread-safe.
class S3Store : public ObjectStore, public Pausable {
 public:
  // Sends nothing yet.
  static Result<std::unique_ptr<S3Store>> Open(S3StoreOptions options);
  ~S3Store() override;

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
  S3Store(S3StoreOptions options, std::unique_ptr<s3::Client> client);
  Status CheckKey(const std::string& key) const;
  Result<Object> GetOnce(const std::string& key);

  const S3StoreOptions options_;
  const std::string root_;  // "" or "a/b/"
  const std::string url_;
  StoreTraits traits_;
  std::unique_ptr<s3::Client> client_;
  bucket::RetryingCarrier carrier_;
};

}  // namespace stoker
