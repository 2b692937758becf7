// SPDX-License-Identifier: Apache-2.0
// Integer-only random numbers: the same seed gives the same draws on every machine and compiler.
// Not for secrets that must resist an attacker; nonces get their seed from the kernel.
#pragma once

#include <cstdint>
#include <string>

namespace stoker {

// SplitMix64 (Steele, Lea and Flood 2014). Not thread-safe: one per owner, passed by reference.
class Prng {
 public:
  explicit Prng(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound > 0.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  // Uniform in [low, high], both included.
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low) + 1));
  }
  bool Chance(uint64_t numerator, uint64_t denominator) { return Below(denominator) < numerator; }
  // `length` characters of 0-9a-z without i, l, o, u: lower-case base 32, safe in paths, tags
  // and DNS names.
  std::string Base32(size_t length) {
    static constexpr char kAlphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
    std::string out;
    for (size_t i = 0; i < length; ++i) out += kAlphabet[Below(32)];
    return out;
  }

 private:
  uint64_t state_;
};

}  // namespace stoker
