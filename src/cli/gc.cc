// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include "cli/context.h"
#include "cli/verb.h"
namespace stoker::cli {
Verb GcVerb() { Verb v; v.name = "gc"; v.run = [](Context&) { return Status::Ok(); }; return v; }
Verb GetVerb() { Verb v; v.name = "get"; v.run = [](Context&) { return Status::Ok(); }; return v; }
Verb CheckpointsVerb() { Verb v; v.name = "checkpoints"; v.run = [](Context&) { return Status::Ok(); }; return v; }
}  // namespace stoker::cli
