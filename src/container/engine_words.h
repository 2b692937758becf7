// SPDX-License-Identifier: Apache-2.0
// What an engine's client says when it fails, in plain words. Pure.
#pragma once

#include <string>

#include "base/status.h"
#include "container/engine_argv.h"

namespace stoker {

// `exit_code` and `error` (standard error) of a client that was to `what`: "start the container".
// kUnavailable: its daemon is away; kBusy: a registry is asked too often. All else is kInvalid,
// with what to do.
Status EngineFailure(const EngineFacts& engine, const std::string& what, int exit_code,
                     const std::string& error);
// Of one that asks a registry on its way: "build Dockerfile". kBusy: that does not serve it now.
Status RegistryFailure(const EngineFacts& engine, const std::string& what, int exit_code,
                       const std::string& error);
// Of one that was to pull `image`. What is not known to stay so may pass, as it is the network's as
// a rule: kBusy, too.
Status PullFailure(const EngineFacts& engine, const std::string& image, int exit_code,
                   const std::string& error);

}  // namespace stoker
