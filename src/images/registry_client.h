// SPDX-License-Identifier: Apache-2.0
// Asks a registry what it has under the name of an image. Sources: OCI distribution-spec 1.1
// ("pull"), distribution's "Token Authentication".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "container/image_ref.h"
#include "container/registry_login.h"

namespace stoker {

struct FoundImage {
  std::string digest;  // of what the name stands for: an index where there are several platforms
  int64_t bytes = 0;   // that are pulled for the platform, compressed
};

struct RegistryAsk {
  ImageRef ref;
  std::string architecture;            // as Go names it: "amd64"
  std::optional<RegistryLogin> login;  // what the registry is told if it asks
  std::string no_login;                // why there is none, for messages
  std::string ca_file;                 // that the registry is trusted by; "" = the system's
  bool pushes = false;                 // asked so that it takes an image
  // Before each further try where it is asked too often or has a trouble of its own (kBusy).
  std::vector<Duration> pauses = {Duration::Seconds(1), Duration::Seconds(2), Duration::Seconds(4)};
};

// kNotFound, kInvalid: the registry's answer is final, and asking again does not change it: it has
// no such image; it is not to be had with this login, or of another architecture. All other errors:
// it could not be asked. Each try takes half a minute at most where the registry is slow; between
// them are `pauses`. Thread-safe.
Result<FoundImage> AskRegistry(const RegistryAsk& ask);

// What Go calls the architecture that this program was built for.
std::string OwnArchitecture();

}  // namespace stoker
