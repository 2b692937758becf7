// SPDX-License-Identifier: Apache-2.0
// One attempt on one node: its parts, in the order of its life.
#pragma once

#include "node/attempt/context.h"
#include "node/attempt/finalizing.h"
#include "node/attempt/hooks.h"
#include "node/attempt/keepers.h"
#include "node/attempt/running.h"
#include "node/attempt/staging.h"

namespace stoker::node {

// Each uses those before it until it is gone.
struct AttemptRun {
  AttemptRun(AttemptParts parts, AttemptConfig config);
  // Says what the report says of the attempt; and when and where the program's use was read.
  UsageInput Complete(NodeReport& report);

  AttemptContext here;
  AttemptKeepers keepers;
  Staging staging;
  Hooks hooks;
  Running running;
  Finalizing finalizing;
};

}  // namespace stoker::node
