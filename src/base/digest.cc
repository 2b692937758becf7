// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

// The calls on a bare SHA256_CTX: EVP's first one reads openssl.cnf and sets up all providers,
// which takes a process that hashes ten short names a millisecond.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace stoker {

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::string_view data) {
  SHA256_Update(&state_->context, data.data(), data.size());
}

std::string Sha256::Hex() {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(digest, &state_->context);
  return HexOf({reinterpret_cast<const char*>(digest), sizeof digest});
}

std::string HexOf(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kHex[static_cast<unsigned char>(c) >> 4];
    out += kHex[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string Sha256Hex(std::string_view data) {
  Sha256 hash;
  hash.Update(data);
  return hash.Hex();
}

}  // namespace stoker
