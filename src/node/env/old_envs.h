// SPDX-License-Identifier: Apache-2.0
// Python environments of this machine that nobody uses any more; python_env.h makes them.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace stoker::node {

// Removes the environments in `cache_dir` that no job has begun with for `age`, unless one is being
// made, belongs to an attempt that runs, or is that of a process that runs. Returns how many;
// `dry_run` only counts them. Safe beside jobs that start: who finds one gone makes it again.
int64_t ClearOldPythonEnvs(const std::string& cache_dir, WallTime now, Duration age, bool dry_run);

}  // namespace stoker::node
