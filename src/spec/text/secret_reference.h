// SPDX-License-Identifier: Apache-2.0
// A secret that lies somewhere already, named in a job file: "ssm:/team/hf", "aws-secret:NAME",
// "gcp-secret:projects/P/secrets/S/versions/5". It is no secret itself. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace stoker {

inline constexpr char kReferenceForms[] =
    "ssm:/NAME, aws-secret:NAME[#KEY] or gcp-secret:projects/P/secrets/S[/versions/V]";

struct SecretReference {
  std::string scheme;  // "ssm"
  std::string name;    // as its service has it
  std::string key;     // of a value that is a JSON object: this member; "" = the whole value
  bool operator==(const SecretReference&) const = default;
};

// Does it begin as a reference does? What does not may be a secret.
bool LooksLikeReference(std::string_view text);

// Holds only what may stand in a request to the service and in a shell. kInvalid, with the form of
// the scheme; the text is repeated only where it begins as a reference does.
Result<SecretReference> ParseSecretReference(const std::string& text);

// kInvalid, with what to write: no service of that scheme has such a name, however it is set up.
// For what is submitted; what an older stoker has taken is still read.
Status CheckSecretName(const SecretReference& reference);

}  // namespace stoker
