// SPDX-License-Identifier: Apache-2.0
// Which keys exist where: those that are understood but not built yet, and where a misplaced one
// belongs. The set is SkyPilot's task schema (sky/utils/schemas.py) and what stoker adds to it.
// Inside spec/ only.
#pragma once

#include <string_view>
#include <vector>

#include "spec/text/spec_reader.h"

namespace stoker {

inline constexpr std::string_view kTopLevel = "the top level";

const RefusedKeys& RefusedTopKeys();
const RefusedKeys& RefusedResourceKeys();
const RefusedKeys& RefusedCheckpointKeys();
const RefusedKeys& RefusedInputKeys();
const RefusedKeys& RefusedLimitKeys();
const RefusedKeys& RefusedConfigKeys();

// Those of 'resources' and, but for keys of single places (spec/places/sections.h), of 'config'
// that say which machines, and nothing about the program: what --infra local ignores. The image is
// one: the job runs on this machine's own system.
const std::vector<std::string_view>& MachineKeys();
const std::vector<std::string_view>& MachineConfigKeys();

// The section that `key` belongs to, kTopLevel, or "" for a key that nobody knows.
std::string_view HomeOfKey(std::string_view key);

}  // namespace stoker
