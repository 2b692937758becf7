// SPDX-License-Identifier: Apache-2.0
// A segment as text: lines, and a last one that says how many and their digest. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace stoker {

// `lines`, each with its line end, and the last line.
std::string EndSegment(std::string lines);

// Gives each line to `take`, which says whether it could be read. kCorrupt: damaged, then `take`
// was not called; or the digest is right and only lines are wrong. kTooNew: from a newer stoker.
Status ReadSegmentLines(const std::string& key, std::string_view text,
                        const std::function<bool(std::string_view line)>& take);

}  // namespace stoker
