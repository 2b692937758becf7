// SPDX-License-Identifier: Apache-2.0
// What the owner of a bucket should know of it, for `stoker doctor`: who asks, with what, and what
// the bucket keeps of what is deleted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stoker {

struct BucketFinding {
  enum class Level { kOk, kNote, kBad } level = Level::kOk;
  std::string what;  // "credentials", "versioning"
  std::string text;  // never a secret; with what to do where something is to be done
};

struct BucketCheck {
  std::vector<BucketFinding> facts;
  // How long the bucket keeps, and bills, what was overwritten or deleted; 0 = not at all, negative
  // = until somebody clears it away. As far as it could be read.
  double keeps_deleted_days = 0;
  double dollars_per_gb_month = 0;  // of what lies there, at list price
};

// Asks the service of "s3://…" or "gs://…" now, a few requests; none for a folder, which has no
// facts. What may not be read is a note, not a failure. Blocks; thread-safe.
BucketCheck CheckBucket(const std::string& url);

// The policy of the bucket of "s3://…", as JSON. kNotFound: it has none; kDenied: it may not be
// read.
Result<std::string> ReadBucketPolicy(const std::string& url);

// Inside store/ only: what answers say. Pure.
void ReadVersioning(const Result<std::string>& xml, BucketCheck* out);  // GetBucketVersioning
// …LifecycleConfiguration, after ReadVersioning(); `prefix` is the store's.
void ReadLifecycle(const Result<std::string>& xml, const std::string& prefix, BucketCheck* out);
// Buckets: get
void ReadGcsBucket(const Result<std::string>& json, const std::string& prefix, BucketCheck* out);

}  // namespace stoker
