// SPDX-License-Identifier: Apache-2.0
// Whether a store keeps what all promises stand on: writes on a condition.
#pragma once

#include <string>

#include "base/status.h"
#include "port/object_store.h"

namespace stoker {

// Writes objects whose names begin with `key`, which must be nobody else's and never used before (a
// removal of then may come late), under conditions that hold and that do not, and removes them.
// kInvalid when the store does not honour them: it must not be used. Other failures are those of
// the store, and say nothing about it. Thread-safe.
Status ProbeConditions(ObjectStore& store, const std::string& key);

}  // namespace stoker
