// SPDX-License-Identifier: Apache-2.0
// Whether a store keeps what all promises stand on: writes on a condition.
#pragma once

#include <string>

#include "base/status.h"
#include "port/object_store.h"

namespace stoker {

// Writes `key`, which must be nobody else's, a few times under conditions that hold and that do
// not, and removes it. kInvalid when the store does not honour them: it must not be used. Other
// failures are those of the store, and say nothing about it. Thread-safe.
Status ProbeConditions(ObjectStore& store, const std::string& key);

}  // namespace stoker
