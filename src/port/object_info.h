// SPDX-License-Identifier: Apache-2.0
// What one object of a store is known by, and what may be asked of it before a write.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

// Opaque and only comparable for equality: an ETag on S3, a generation on GCS, a revision locally.
using Version = std::string;

struct ObjectInfo {
  std::string key;
  int64_t size = 0;
  Version version;
  WallTime last_modified;  // by the store's clock
  // Its owner may run it. Of objects as far as lists tell; ObjectReader::Executable knows it.
  bool executable = false;
};

// One of many that could not be done with, and why.
struct OddKey {
  std::string key;
  Status why;
};

// What must be true of the key for a write to happen.
struct Condition {
  enum class Kind { kNone, kAbsent, kMatch } kind = Kind::kNone;
  Version version;
  static Condition None() { return {}; }
  static Condition Absent() { return {Kind::kAbsent, {}}; }
  static Condition Match(Version v) { return {Kind::kMatch, std::move(v)}; }
};

}  // namespace stoker
