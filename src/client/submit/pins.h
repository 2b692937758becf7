// SPDX-License-Identifier: Apache-2.0
// What requirements.txt names by a branch, a tag or nothing, resolved to commits once for a job.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/open/client.h"
#include "job/packed_code.h"

namespace stoker::client {

// Asks git, about all at once and for at most 5 s, and says what it found. Nothing happens where no
// file names a repository so. `variable` is what ${NAME} in an address stands for; a login made of
// such is on no command line, and in no record.
std::vector<Pin> ResolvePins(
    Client& client, const std::string& workdir,
    const std::function<std::optional<std::string>(const std::string& name)>& variable);

}  // namespace stoker::client
