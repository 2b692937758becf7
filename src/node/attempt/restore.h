// SPDX-License-Identifier: Apache-2.0
// The checkpoint folder of an attempt before its program starts: whether it may be one, what lies
// there, and the checkpoint that is restored into it.
#pragma once

#include <string>

#include "agent/supervisor.h"
#include "node/attempt/context.h"

namespace stoker::node {

// Whether a folder that outlives attempts may be the job's. Where its owner named a wrong one,
// `result` says so.
Status CheckCheckpointFolder(const AttemptContext& here, StagingEnded* result);
// `id` as in Attempt::restore (job/checkpoint_name.h); "" = none is restored, and what lies there
// is said. What is in no checkpoint is moved aside. May be repeated.
Status RestoreInto(AttemptContext& here, const std::string& id, StagingEnded* result);

}  // namespace stoker::node
