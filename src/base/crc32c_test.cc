// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <random>

namespace stoker {
namespace {

// RFC 3720, B.4, and the check value of the catalogue of CRCs.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
  EXPECT_EQ(Crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(Crc32cText(0xe3069283u), "4waSgw==");
}

uint32_t BitByBit(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

TEST(Crc32c, CombinesPieces) {
  std::mt19937 random(11);
  std::string bytes(30'000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  const std::string_view all = bytes;
  for (int i = 0; i < 100; ++i) {
    const size_t cut = random() % (bytes.size() + 1);
    const uint32_t first = Crc32c(all.substr(0, cut));
    const uint32_t second = Crc32c(all.substr(cut));
    EXPECT_EQ(Crc32cCombine(first, second, static_cast<int64_t>(bytes.size() - cut)), Crc32c(all));
  }
}

TEST(Crc32c, TextAndBack) {
  for (const uint32_t crc : {0u, 1u, 0xe3069283u, 0xffffffffu}) {
    EXPECT_EQ(ParseCrc32cText(Crc32cText(crc)), crc);
  }
  for (const char* text : {"", "4waSgw", "4waSgw==-3", "4waSg===", "????????", "4waSgwAA"}) {
    EXPECT_FALSE(ParseCrc32cText(text)) << text;
  }
}

// Every way through the three lanes and what is left of them, begun at odd addresses.
TEST(Crc32c, AnyLengthAnySplit) {
  std::mt19937 random(7);
  std::string bytes(40'000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (int i = 0; i < 200; ++i) {
    const size_t begin = random() % 64;
    const size_t size = random() % (bytes.size() - begin);
    const std::string_view text = std::string_view(bytes).substr(begin, size);
    const uint32_t whole = BitByBit(text);
    EXPECT_EQ(Crc32c(text), whole);
    const size_t cut = size == 0 ? 0 : random() % size;
    EXPECT_EQ(Crc32c(text.substr(cut), Crc32c(text.substr(0, cut))), whole);
  }
}

TEST(Crc32c, OfPiecesIsThatOfTheWhole) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * 7919);
  for (const size_t cut : {size_t{0}, size_t{1}, size_t{777}, size_t{8192}, text.size()}) {
    const std::string_view first(text.data(), cut), second(text.data() + cut, text.size() - cut);
    EXPECT_EQ(Crc32cCombine(Crc32c(first), Crc32c(second), static_cast<int64_t>(second.size())),
              Crc32c(text));
  }
}

TEST(Crc32c, TextIsReadBack) {
  for (const uint32_t crc : {0u, 1u, 0xe3069283u, 0xffffffffu}) {
    EXPECT_EQ(ParseCrc32cText(Crc32cText(crc)).value_or(7), crc);
  }
  for (const char* bad : {"", "AAAA", "AAAAAA==-2", "AAAAAAAA", "AAAA!!==", "AAAAAA=="}) {
    EXPECT_EQ(ParseCrc32cText(bad).has_value(), std::string(bad) == "AAAAAA==") << bad;
  }
}

}  // namespace
}  // namespace stoker
