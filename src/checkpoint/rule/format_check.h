// SPDX-License-Identifier: Apache-2.0
// Does a file's own format show that it is whole? For files of which nobody saw how their writing
// ended. The bytes are untrusted; work is linear in the size, memory bounded.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace stoker {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual int64_t size() const = 0;
  // Up to `count` bytes from `offset`; 0 at the end.
  virtual Result<int64_t> Read(int64_t offset, char* buffer, int64_t count) = 0;
};

enum class Wholeness {
  kWhole,     // its checksums or its grammar say so, whatever way it was written
  kFullSize,  // as long as it says it is: whole if it was written from front to end into a new file
  kBroken,
  kUnknown,  // a format that says nothing about it
};

// zip (torch.save, npz): every entry's CRC-32. gzip: every member's. safetensors: length. JSON,
// with NaN and Infinity: parses as an object or an array. Broken is what shows a cut, and nothing
// else: what is not understood is unknown.
Wholeness CheckFormat(ByteSource& source);

}  // namespace stoker
