// SPDX-License-Identifier: Apache-2.0
// Many small log segments become one larger, so that a week's log is hundreds of objects. The
// larger one is created first and its parts deleted afterwards: a death in between leaves lines
// twice in the store, which readers cope with, never lines that are gone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/log/log_record.h"
#include "port/object_store.h"

namespace stoker {

struct MergeLimits {
  size_t least = 16;             // fewer are not worth the requests
  int64_t max_packed = 2 << 20;  // of all parts together
  int64_t max_raw = 32 << 20;    // unpacked; half of what readers accept
};

struct MergeRange {
  size_t begin = 0;
  size_t count = 0;
};

// Which neighbours to merge: contiguous, at least `least`, within the limits, and none of them
// larger than the rest together, so that each line is rewritten only about log2(size) times.
// `segments` are ordered and do not overlap; `raw` has unpacked sizes as far as they are known.
// Pure.
std::optional<MergeRange> PlanMerge(const std::vector<LogSegment>& segments,
                                    const std::map<std::string, int64_t>& raw,
                                    const MergeLimits& limits = {});

struct MergeOutcome {
  std::optional<LogSegment> merged;    // in the store; nullopt = nothing was done
  std::vector<LogSegment> parts;       // what it holds: may be deleted
  std::map<std::string, int64_t> raw;  // sizes learnt, `merged` included
  std::string bad;                     // key of a part that is no segment: leave it alone
};

// Verifies every part while it is read. Merges fewer than given when they are larger than thought.
Result<MergeOutcome> MergeSegments(ObjectStore& store, const std::string& job,
                                   const std::vector<LogSegment>& parts,
                                   const MergeLimits& limits = {});

// Ok when the object is exactly the segment that its name says; kCorrupt when not.
Status VerifySegment(ObjectStore& store, const LogSegment& segment);

}  // namespace stoker
