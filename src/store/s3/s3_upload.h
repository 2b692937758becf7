// SPDX-License-Identifier: Apache-2.0
// Objects on their way into S3: whole, or in parts. Inside store/ only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "port/object_store.h"
#include "store/s3/s3_client.h"

namespace stoker::s3 {

// One PUT. kExists, kConflict, kNotFound as ObjectStore::Put. `type` as PutObject's.
Result<Version> PutWhole(Carrier& client, const std::string& key, std::string data,
                         const Condition& condition, const std::string& type = "");

// `client` outlives it. What fits into one part goes as one PUT. At most `parallel` + 1 parts are
// held in memory; those of a file are sent from it.
Result<std::unique_ptr<Upload>> BeginUpload(Carrier& client, const std::string& key,
                                            const Condition& condition, int64_t part_bytes,
                                            int parallel);

}  // namespace stoker::s3
