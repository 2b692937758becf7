// SPDX-License-Identifier: Apache-2.0
// Images that stoker itself has put into an engine's cache, and when each was last of use on this
// machine: what was built of a Dockerfile (kBuiltImage), and apptainer's files.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "container/engine_argv.h"
#include "sys/container/engines.h"

namespace stoker {

// So long one that nobody uses stays.
inline constexpr Duration kImageUnusedAge = Duration::Hours(24 * 30);

// A container of `image` begins now, it was built, or a job needs it still; nothing to do for
// images that stoker has not made. What cannot be noted counts as unused from the next sweep on.
void NoteImageUse(const std::string& state_dir, const std::string& image);
// Of one of apptainer's.
void NoteFileUse(const std::string& state_dir, const EngineFacts& engine, const std::string& image);

// Whether any has been noted.
bool HasImageUses(const std::string& state_dir);

// Removes those that no container has been begun of for kImageUnusedAge: their names, or with
// `dry_run` which would go. One whose last use is not known is used now; one that a container has
// is left by its engine. `engines`: of this machine.
std::vector<std::string> SweepImages(const std::string& state_dir,
                                     const std::vector<FoundEngine>& engines, WallTime now,
                                     bool dry_run);
// In front of their names, where other left-overs are listed, too.
inline constexpr char kImageLeft[] = "image ";

}  // namespace stoker
