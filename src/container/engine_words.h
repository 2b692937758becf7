// SPDX-License-Identifier: Apache-2.0
// What an engine's client says when it fails, in plain words. Pure.
#pragma once

#include <string>

#include "base/status.h"
#include "container/engine_argv.h"

namespace stoker {

// `exit_code` and `error` (standard error) of a client that was to `what`: "start the container",
// "pull IMAGE". kUnavailable: its daemon is away. All else is kInvalid, with what to do: engines
// themselves try again what may pass.
Status EngineFailure(const EngineFacts& engine, const std::string& what, int exit_code,
                     const std::string& error);

}  // namespace stoker
