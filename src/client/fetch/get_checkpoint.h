// SPDX-License-Identifier: Apache-2.0
// A checkpoint, into a folder of a person.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "client/open/client.h"
#include "job/checkpoint_name.h"

namespace stoker::client {

// Which checkpoint `what` names, of `job` or of one that it goes on from; nullopt: it may be the
// name of an output, and of no checkpoint.
Result<std::optional<CheckpointName>> CheckpointMeant(Client& client, const std::string& job,
                                                      const std::string& what);

// As `node` saw it, into `to`; "" = a new folder, which the next job does not pack. The folder is
// there once all of it is. Returns its path from the root. kExists: `to` is there and not empty.
Result<std::string> GetCheckpoint(Client& client, const CheckpointName& which, int node,
                                  const std::string& to);

// The folder that "" stands for.
std::string FolderOf(const CheckpointName& which);

}  // namespace stoker::client
