// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace stoker::sys {

// Writes `bytes` at `offset`, with 64 KiB of zeros and more left as holes, whatever was there
// before. The file may stay shorter than what was written by a hole at its end: whoever calls sees
// to its length. False: errno says why. Thread-safe.
bool WriteSparse(int fd, int64_t offset, std::string_view bytes);
// The same without holes.
bool WriteWhole(int fd, int64_t offset, std::string_view bytes);

}  // namespace stoker::sys
