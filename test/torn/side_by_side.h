// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "test/torn/trial.h"

namespace torn {

// Runs trials 0 … count-1, `parallel` at a time, each in a process of its own, as agents are.
// `done` is called in this process, once for each, in the order in which they end; a trial that
// dies or takes longer than ten minutes comes with an error. Call it while this process has no
// threads and no other children.
void RunSideBySide(int count, int parallel, const std::function<TrialResult(int)>& trial,
                   const std::function<void(int, const TrialResult&)>& done);

}  // namespace torn
