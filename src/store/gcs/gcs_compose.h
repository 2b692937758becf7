// SPDX-License-Identifier: Apache-2.0
// Objects of Google Cloud Storage made of others ("Composite objects", "Objects: compose"). Inside
// store/ only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/gcs/gcs_upload.h"

namespace stoker::gcs {

// An object that is a piece of a larger one.
struct Piece {
  std::string name;
  Version generation;
  int64_t size = 0;
  uint32_t crc = 0;
};

// `pieces`, one behind the other, as the object `key`. More than 32 are joined in rounds, into
// objects below `folder` (with a slash at its end), which stay there. What the service has made is
// compared with the checksums of the pieces. kExists, kConflict, kNotFound as ObjectStore::Put;
// kInvalid: a piece is not there any more.
Result<Version> ComposeAll(const Bucket& bucket, const std::string& key, std::vector<Piece> pieces,
                           const std::string& folder, const Condition& condition,
                           bool executable = false);

}  // namespace stoker::gcs
