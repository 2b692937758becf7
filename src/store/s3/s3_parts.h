// SPDX-License-Identifier: Apache-2.0
// Transfers to and from S3 by several threads. Inside store/ only. The carriers outlive what is
// made of them; keys are whole, `info.key` is the store's own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "port/object_parts.h"
#include "store/bucket/retrying_carrier.h"
#include "store/s3/s3_client.h"

namespace stoker::s3 {

// Sends nothing yet.
std::unique_ptr<ObjectReader> OpenReader(bucket::RetryingCarrier& carrier, std::string key,
                                         ObjectInfo info);

// One PUT.
Result<Version> PutFrom(Carrier& carrier, const std::string& key, ObjectReader& from,
                        const Condition& condition);

// A multipart upload, or that named by `resume` where it is still there.
// What `info` says of it is its size, and whether it is executable.
Result<std::unique_ptr<PartsUpload>> BeginParts(Carrier& carrier, std::string key, ObjectInfo info,
                                                Condition condition, int64_t part_bytes,
                                                const std::string& resume);

// As ObjectStore's. DeleteObjects, a thousand at once, and again for those that failed in passing;
// those whose names XML cannot hold one by one.
[[nodiscard]] std::vector<OddKey> DeleteAll(bucket::RetryingCarrier& carrier,
                                            const std::vector<std::string>& keys);

}  // namespace stoker::s3
