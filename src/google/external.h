// SPDX-License-Identifier: Apache-2.0
// Whose word is exchanged in workload identity federation, where it is not simply read; inside
// google/ only. Sources: AIP-4117; google-auth's aws.py and pluggable.py.
#pragma once

#include <string>

#include "google/sources.h"

namespace stoker {

struct ExternalSubject {
  std::string text;   // a secret
  std::string found;  // for messages
};

// `source` is the file's credential_source in both.

// A signed request for sts:GetCallerIdentity, which Google sends to Amazon to learn who signed it.
// Keys and region: of the environment, else of the metadata service that `source` names.
Result<ExternalSubject> SubjectOfAws(const GoogleLookup& lookup, const GoogleFile& file,
                                     const GoogleFile& source);

// The token that a program writes, or has left in its output file. Only where
// GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES is "1": whoever writes the file chooses the program.
Result<ExternalSubject> SubjectOfExecutable(const GoogleLookup& lookup, const GoogleFile& file,
                                            const GoogleFile& source);

}  // namespace stoker
