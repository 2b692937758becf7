// SPDX-License-Identifier: Apache-2.0
// Objects on their way into Google Cloud Storage: whole, or through a resumable session. Inside
// store/ only. Source: "Resumable uploads", "Request preconditions" (Cloud Storage documentation).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "port/object_store.h"
#include "store/bucket/retrying_carrier.h"
#include "store/gcs/gcs_answer.h"
#include "store/gcs/gcs_client.h"

namespace stoker::gcs {

struct Bucket {
  bucket::RetryingCarrier& carrier;  // outlives what is begun with it
  std::string name;
};

// One request with the checksum in it: the service refuses what does not have it. kExists,
// kConflict, kNotFound as ObjectStore::Put. `type` as MessageOf's.
Result<Version> PutWhole(const Bucket& bucket, const std::string& key, std::string_view data,
                         const Condition& condition, const std::string& type = "");

// As ObjectStore::PutFrom, in one request too; files are sent from where they are.
Result<Version> PutFrom(const Bucket& bucket, const std::string& key, ObjectReader& from,
                        const Condition& condition);

// What fits into one chunk goes as one request. `chunk_bytes` is a multiple of 256 KiB; one chunk
// is held in memory, files are sent from where they are. After a cut the session is asked how much
// it has. An answer lost at the end is told apart: the session says whether it made the object.
std::unique_ptr<Upload> BeginUpload(Bucket bucket, const std::string& key,
                                    const Condition& condition, int64_t chunk_bytes);

}  // namespace stoker::gcs
