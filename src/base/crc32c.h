// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli; RFC 3720, B.4): the checksum that S3 and GCS keep with objects. No packaged
// library has it for static linking; the processor does it where it can.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stoker {

// Of `bytes` behind what `before` is the checksum of; 0 = nothing. "123456789" has 0xe3069283.
uint32_t Crc32c(std::string_view bytes, uint32_t before = 0);

// Of one piece behind another, out of the checksums of both; `size` is that of the second.
uint32_t Crc32cCombine(uint32_t first, uint32_t second, int64_t size);

// As both services write it: base64 of the four bytes, the highest first.
std::string Crc32cText(uint32_t crc);
// nullopt: it is no such text.
std::optional<uint32_t> ParseCrc32cText(std::string_view text);

}  // namespace stoker
