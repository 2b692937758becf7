// SPDX-License-Identifier: Apache-2.0
// What `compare` shows to people. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "view/best_run.h"
#include "view/compared.h"

namespace stoker::cli {

inline constexpr size_t kSideBySide = 3;  // so many jobs are columns

struct CompareLook {
  bool all = false;    // also what is the same in all jobs, and metrics of the runtime
  size_t width = 120;  // columns; 60 at least
};

// In what jobs differ. Up to three jobs are columns under titles of their sections; more are rows,
// the best first, in tables one below the other where one is too wide. Nothing that they differ in
// is left out, but for metrics of the runtime, and packages and variables beyond the first dozen of
// each, which are counted.
std::string CompareTable(const std::vector<Compared>& jobs, const std::optional<BestRun>& best,
                         const CompareLook& look);

}  // namespace stoker::cli
