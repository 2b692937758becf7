// SPDX-License-Identifier: Apache-2.0
// What a reader of an object may know besides its bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"

namespace stoker {

// An ObjectReader that is one of these, too, can tell its checksum; one that is not cannot.
class Checksummed {
 public:
  virtual ~Checksummed() = default;
  // The CRC32C of all bytes: what the store knows, in one request, or what reading a file here
  // gives. nullopt: it cannot be had without fetching the object. kConflict: it is another by now.
  virtual Result<std::optional<uint32_t>> Checksum() = 0;
};

}  // namespace stoker
