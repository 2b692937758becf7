// SPDX-License-Identifier: Apache-2.0
// Recognises credentials in text, so that they are not uploaded by accident. Pure; no claim to find
// all: it looks for the published forms of common keys, and asks each for enough randomness that
// placeholders and examples pass.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stoker::pack {

struct CredentialFinding {
  int line = 0;      // from 1
  std::string what;  // "a GitHub token"; never the secret itself
};

// The first credential in `text`; nullopt when there is none, or when it is not text (has a NUL in
// its first 8000 bytes, as git decides). A line that says "stoker:not-a-secret" is passed over.
std::optional<CredentialFinding> FindCredential(std::string_view text);

// A PEM private key with a body, anywhere in `text`.
bool HoldsPrivateKey(std::string_view text);

}  // namespace stoker::pack
