// SPDX-License-Identifier: Apache-2.0
// The image of an attempt's container on this machine: the same for all nodes and attempts of its
// job.
#pragma once

#include <optional>
#include <string>

#include "container/engine_argv.h"
#include "contract/environment.h"
#include "node/attempt/context.h"
#include "node/env/shell_step.h"

namespace stoker::node {

struct BroughtImage {
  std::string name;  // what the engine is told to run
  std::string id;
};
// The image that the job is known to have, as it was found on this machine before; nothing is asked
// of `engine`, which may have it no more. Nullopt: it is to be brought.
std::optional<BroughtImage> RecallImage(AttemptContext& here, const EngineFacts& engine);
// Pulls it where the engine has it not; where nobody knew yet which image it is, fixes that for the
// job. Says what it waits for. `secrets`: of the
// job, of which its login at the registry is made. kInvalid: it cannot be had.
Result<BroughtImage> BringImage(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
                                const contract::Environment& secrets);

}  // namespace stoker::node
