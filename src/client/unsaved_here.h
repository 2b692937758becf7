// SPDX-License-Identifier: Apache-2.0
// What nodes on this machine moved out of the way because no store took it: for who asks about the
// job, also where the line that would have said so never reached the log.
#pragma once

#include <string>
#include <vector>

#include "job/job.h"

namespace stoker::client {

// Folders of `state`, this machine's state folder, that hold what `job` could not keep, oldest name
// first. Empty also where nothing can be listed.
std::vector<std::string> UnsavedHere(const std::string& state, const std::string& job);
// A line for each of `folders` that the record of the job does not name already; "" for none.
std::string UnsavedText(const Job& job, const std::vector<std::string>& folders);

}  // namespace stoker::client
