// SPDX-License-Identifier: Apache-2.0
// The work directory of an attempt before anything runs in it: its place, and the job's code.
#pragma once

#include "base/status.h"
#include "node/attempt/context.h"
#include "node/env/shell_step.h"

namespace stoker::node {

// A fresh folder for each attempt, at the same place: what the last one left half-written must not
// look like this one's work. Blocks until the attempt before it has left the place, for a while,
// or until `step` is cancelled.
Status PrepareWorkFolder(AttemptContext& here, ShellStep& step);

}  // namespace stoker::node
