// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

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

// A checksum is a polynomial over GF(2): behind `size` zero bytes it is multiplied by x^(8 * size)
// modulo the generator, by repeated squaring. Source: Mark Adler's crc32_combine of zlib.
uint32_t Crc32cCombine(uint32_t first, uint32_t second, int64_t size) {
  const auto multiply = [](uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = uint32_t{1} << 31; bit != 0; bit >>= 1) {
      if ((a & bit) != 0) product ^= b;
      b = (b & 1) != 0 ? (b >> 1) ^ kPolynomial : b >> 1;
    }
    return product;
  };
  uint32_t shift = uint32_t{1} << 31;  // x^0
  uint32_t power = uint32_t{1} << 23;  // x^8: one byte
  for (auto left = static_cast<uint64_t>(size); left > 0; left >>= 1) {
    if ((left & 1) != 0) shift = multiply(power, shift);
    power = multiply(power, power);
  }
  return multiply(shift, first) ^ second;
}

std::optional<uint32_t> ParseCrc32cText(std::string_view text) {
  // OpenSSL takes any number of '=' for zeros, depending on its version.
  if (text.size() != 8 || text.find('=') != 6 || text[7] != '=') return std::nullopt;
  unsigned char bytes[6] = {};
  const auto* from = reinterpret_cast<const unsigned char*>(text.data());
  if (EVP_DecodeBlock(bytes, from, 8) != 6) return std::nullopt;
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
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
