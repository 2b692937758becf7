// SPDX-License-Identifier: Apache-2.0
// Large objects in parts that are written at once, and gone on with after a kill: "Parallel
// composite uploads" of the Cloud Storage documentation. Parts are objects below kPartsFolder,
// which are composed into one and deleted. Inside store/ only.
//
// Why not the XML API's multipart uploads, which need no such objects: "preconditions are not
// supported in the requests" ("XML API multipart uploads"), and the port's writes have conditions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "port/object_parts.h"
#include "store/gcs/gcs_upload.h"

namespace stoker::gcs {

// In front of the store's prefix, so that no list of a store below a prefix has parts in it. It
// ends with a slash.
inline constexpr char kPartsFolder[] = ".stoker-parts/";

// Whether parts cost no more than their bytes: as gcloud has it, objects of the bucket must be of
// STANDARD storage (others are paid for a minimum time) and not be kept from being deleted. Writes
// an empty object below `root` and deletes it, as that says so and asks for no further rights.
Result<bool> PartsPay(const Bucket& bucket, const std::string& root);

// False: names below `root` would be too long.
bool HasPlaceForParts(const std::string& root);

// Of the object `key`, which `info` describes to the caller. `resume`: the id of an earlier one.
Result<std::unique_ptr<PartsUpload>> BeginParts(const Bucket& bucket, const std::string& root,
                                                const std::string& key, ObjectInfo info,
                                                const Condition& condition, int64_t part_bytes,
                                                const std::string& resume);

// Deletes the parts below `root` of uploads whose first is older than `age`, and says of how many
// uploads they were. `dry_run`: only says it.
Result<int> SweepParts(const Bucket& bucket, const std::string& root, Duration age, bool dry_run);

// As ObjectStore's; keys are whole. Several at once, as the API has no request for many but for a
// hundred in a batch, each of which counts.
[[nodiscard]] std::vector<OddKey> DeleteAll(const Bucket& bucket,
                                            const std::vector<std::string>& keys);

}  // namespace stoker::gcs
