// SPDX-License-Identifier: Apache-2.0
// What a bucket's owner and a cloud's must allow, as files for their own tools.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/open/client.h"
#include "port/rights.h"

namespace stoker::client {

// The rights that the store's bucket must grant, and those of the place `infra`, unless it is "".
// kUsage: `infra` is no place; kInvalid: the store is a folder, or not one for that place.
Result<Rights> FindRights(Client& client, const std::string& infra);

struct RightsWritten {
  std::string path;   // below the folder
  bool anew = false;  // false: it was there, word for word
};
// Writes each file whole into `folder`, which is made. kExists: a file of such a name is there and
// says something else, which is never overwritten; then nothing has been written but what another
// process raced for.
Result<std::vector<RightsWritten>> WriteRights(const Rights& rights, const std::string& folder);

}  // namespace stoker::client
