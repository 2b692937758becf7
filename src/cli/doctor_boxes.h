// SPDX-License-Identifier: Apache-2.0
// What 'stoker doctor --infra ssh/POOL' finds on the boxes of a pool.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace stoker::cli {

struct Finding {
  std::string what;
  std::string level;  // "ok", "note", "bad"
  std::string text;
};

// Connects to each: whether it answers, has a stoker, has room, and sees this store, of which it
// also tries what several computers must be able to rely on.
std::vector<Finding> ExamineBoxes(Context& context, const std::string& pool);

// A person says that the box will not come back as it was: whatever it ran counts as gone, and jobs
// go on elsewhere. Says how many.
Status GiveUpBoxOfPool(Context& context, const std::string& box);

}  // namespace stoker::cli
