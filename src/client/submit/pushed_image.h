// SPDX-License-Identifier: Apache-2.0
// The image that was built of a job's Dockerfile, in the registry of the settings.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "client/open/client.h"
#include "container/engine_argv.h"
#include "images/registry_client.h"
#include "spec/job_spec.h"

namespace stoker::client {

// `ask`: as AskAs says, its tag names the content. Nullopt: it is not there yet. kInvalid: there is
// no login with which it may be looked for. All errors say what to do.
Result<std::optional<FoundImage>> LookForPushed(const RegistryAsk& ask);
// Pushes `name`, which `engine` has, there. kInvalid: it may not be pushed, with the engine's
// words.
Result<FoundImage> PushImage(Client& client, const EngineFacts& engine, const std::string& name,
                             const RegistryAsk& ask);

}  // namespace stoker::client
