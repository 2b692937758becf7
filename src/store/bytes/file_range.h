// SPDX-License-Identifier: Apache-2.0
// Parts of a file on their way into a bucket; inside store/ only.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/status.h"

namespace stoker {

// `size` bytes from `offset` in pieces, in order, until `each` fails. kCorrupt: the file is
// shorter.
Status ReadRange(int fd, int64_t offset, int64_t size,
                 const std::function<Status(std::string_view)>& each);

// The CRC-32C of those bytes behind what `before` is that of.
Result<uint32_t> ChecksumOfRange(int fd, int64_t offset, int64_t size, uint32_t before = 0);

}  // namespace stoker
