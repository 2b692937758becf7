// SPDX-License-Identifier: Apache-2.0
// Is everything here that a job needs? Every finding says what was found and, if bad, what to do.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/open/client.h"
#include "port/broker.h"

namespace stoker::client {

// Of this machine, or of the place `infra` ("ssh/lab"; "" = none); settings and store in any case.
// `job`: what its checkpoints cost, too; "" = none. kUsage: `infra` is no place.
Result<std::vector<Finding>> Examine(Client& client, const std::string& job,
                                     const std::string& infra);

// A person says that the box will not come back as it was: whatever it ran counts as gone, and jobs
// go on elsewhere. Returns how many machines.
Result<int> GiveUpBox(Client& client, const std::string& box);

}  // namespace stoker::client
