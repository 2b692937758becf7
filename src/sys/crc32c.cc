// SPDX-License-Identifier: Apache-2.0
#include "sys/crc32c.h"

#include <openssl/evp.h>

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stoker {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint32_t ByTable(uint32_t crc, const char* at, size_t size) {
  for (; size > 0; --size, ++at) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(*at)) & 0xff];
  }
  return crc;
}

#if defined(__x86_64__)
// What `crc` becomes behind `kLane` zero bytes, by its four bytes: three lanes are worked on at
// once, as the instruction takes three cycles and one can begin in each.
constexpr size_t kLane = 4096;
using Shift = std::array<std::array<uint32_t, 256>, 4>;

constexpr uint32_t AfterZeros(uint32_t crc) {
  for (size_t i = 0; i < kLane; ++i) crc = (crc >> 8) ^ kTable[crc & 0xff];
  return crc;
}

Shift MakeShift() {
  Shift shift{};
  for (uint32_t byte = 0; byte < 4; ++byte) {
    for (uint32_t i = 0; i < 256; ++i) shift[byte][i] = AfterZeros(i << (8 * byte));
  }
  return shift;
}

uint32_t BehindZeros(const Shift& shift, uint32_t crc) {
  return shift[0][crc & 0xff] ^ shift[1][(crc >> 8) & 0xff] ^ shift[2][(crc >> 16) & 0xff] ^
         shift[3][crc >> 24];
}

uint64_t Load(const char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

__attribute__((target("sse4.2"))) uint32_t ByProcessor(uint32_t crc, const char* at, size_t size) {
  static const Shift shift = MakeShift();
  while (size >= 3 * kLane) {
    uint64_t a = crc;
    uint64_t b = 0;
    uint64_t c = 0;
    for (size_t i = 0; i < kLane; i += 8) {
      a = _mm_crc32_u64(a, Load(at + i));
      b = _mm_crc32_u64(b, Load(at + kLane + i));
      c = _mm_crc32_u64(c, Load(at + 2 * kLane + i));
    }
    crc = BehindZeros(shift, static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b);
    crc = BehindZeros(shift, crc) ^ static_cast<uint32_t>(c);
    at += 3 * kLane;
    size -= 3 * kLane;
  }
  uint64_t rest = crc;
  for (; size >= 8; size -= 8, at += 8) rest = _mm_crc32_u64(rest, Load(at));
  crc = static_cast<uint32_t>(rest);
  for (; size > 0; --size, ++at) crc = _mm_crc32_u8(crc, static_cast<unsigned char>(*at));
  return crc;
}
#endif

}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t before) {
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("sse4.2");
  if (fast) return ~ByProcessor(~before, bytes.data(), bytes.size());
#endif
  return ~ByTable(~before, bytes.data(), bytes.size());
}

std::string Crc32cText(uint32_t crc) {
  const unsigned char bytes[4] = {
      static_cast<unsigned char>(crc >> 24), static_cast<unsigned char>(crc >> 16),
      static_cast<unsigned char>(crc >> 8), static_cast<unsigned char>(crc)};
  unsigned char text[9] = {};
  EVP_EncodeBlock(text, bytes, 4);
  return reinterpret_cast<const char*>(text);
}

}  // namespace stoker
