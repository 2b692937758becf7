// SPDX-License-Identifier: Apache-2.0
// SHA-256, the only hash that names anything in stoker. Pure; OpenSSL does the arithmetic.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace stoker {

// Two lower-case digits a byte.
std::string HexOf(std::string_view bytes);

// HexOf the SHA-256 of `data`.
std::string Sha256Hex(std::string_view data);

// The same, fed in pieces. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void Update(std::string_view data);
  // Call once; the object is spent afterwards.
  std::string Hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker
