// SPDX-License-Identifier: Apache-2.0
// The job's virtual environment and its `setup`, which run before the program and may fail.
#pragma once

#include "agent/supervisor.h"
#include "node/attempt/context.h"
#include "node/attempt/program.h"
#include "node/env/shell_step.h"

namespace stoker::node {

// Adds to `staged` what they made. Where the user's part failed, `result` says so.
Status RunSetup(AttemptContext& here, ShellStep& step, bool resume, Staged& staged,
                StagingEnded* result);

}  // namespace stoker::node
