// SPDX-License-Identifier: Apache-2.0
// The container of an attempt, where its job asks for one: its image brought to this machine, begun
// before `setup`, the same for all that runs until the attempt ends.
#pragma once

#include "agent/supervisor.h"
#include "contract/environment.h"
#include "node/attempt/context.h"
#include "node/env/shell_step.h"

namespace stoker::node {

// `here.container` is there then, and `step` runs in it. Nothing to do without an image, or where
// it is there already. Says what it waits for. `secrets`: of the job. Where the job is at fault,
// `result` says so.
Status EnterContainer(AttemptContext& here, ShellStep& step, const contract::Environment& secrets,
                      StagingEnded* result);

// Ends it, with all that runs in it; `step` runs on the machine again. Harmless without one.
void LeaveContainer(AttemptContext& here, ShellStep& step);

}  // namespace stoker::node
