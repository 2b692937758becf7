// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli; RFC 3720, B.4): the checksum that S3 and GCS keep with objects. No packaged
// library has it for static linking; the processor does it where it can.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stoker {

// Of `bytes` behind what `before` is the checksum of; 0 = nothing. "123456789" has 0xe3069283.
uint32_t Crc32c(std::string_view bytes, uint32_t before = 0);

// As both services write it: base64 of the four bytes, the highest first.
std::string Crc32cText(uint32_t crc);

}  // namespace stoker
