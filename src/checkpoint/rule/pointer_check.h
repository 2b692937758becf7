// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace stoker {

// The size up to which a file at the top of the directory may be a pointer ("latest").
inline constexpr int64_t kMaxPointer = 256;

// Does a pointer's text (or a link's target) name a unit that is not in the checkpoint: one of
// `excluded`, or one of a row of steps (like those in `units`) that is ahead of all of them, or one
// of a row of which all are left out? A pointer back to a step that has been cleared away since is
// no harm.
bool PointsOutside(std::string_view text, const std::set<std::string>& units,
                   const std::set<std::string>& excluded);

}  // namespace stoker
