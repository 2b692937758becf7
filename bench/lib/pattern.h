// SPDX-License-Identifier: Apache-2.0
// The bytes that wire_server has for every object, from the first on and again after kPattern. Not
// a constant: nothing on the way should find out that it could be shorter.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace bench {

inline constexpr int64_t kPattern = 64 << 20;

class Pattern {
 public:
  static constexpr int64_t kBlock = 1 << 20;
  // The next kBlock bytes.
  const std::string& Next() {
    if (at_ == kPattern) *this = Pattern();
    for (size_t i = 0; i + 8 <= block_.size(); i += 8) {
      x_ ^= x_ << 13;
      x_ ^= x_ >> 7;
      x_ ^= x_ << 17;
      std::memcpy(block_.data() + i, &x_, 8);
    }
    at_ += kBlock;
    return block_;
  }

 private:
  uint64_t x_ = 88172645463325252U;
  int64_t at_ = 0;
  std::string block_ = std::string(kBlock, '\0');
};

}  // namespace bench
