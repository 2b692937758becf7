// SPDX-License-Identifier: Apache-2.0
// What a container's program is begun as: its entry point, and whose its folders are where that is
// not who runs the agent.
#pragma once

#include <functional>

#include "base/status.h"
#include "container/engine_argv.h"
#include "node/attempt/context.h"
#include "node/env/shell_step.h"

namespace stoker::node {

// Asks the engine, with patience: what it says of itself that may pass is said and asked again for
// a minute, and is kInvalid then. kCancelled: `step` was.
Status AwaitEngine(AttemptContext& here, ShellStep& step, const std::function<Status()>& ask);
// Checks `container.user` against the engine, and completes `plan` by the entry point. kInvalid:
// the job is at fault.
Status PlanProgram(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
                   ContainerPlan* plan);
// The container is there: says that its user is another one, whose all folders of the attempt are
// from here on.
Status SayUser(AttemptContext& here);
// Before something runs in it: what stoker has put there since is its user's, too.
Status GiveToUser(const AttemptContext& here);

}  // namespace stoker::node
