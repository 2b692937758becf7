// SPDX-License-Identifier: Apache-2.0
// A project's lock as a file of requirements, by the tool that wrote it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "node/env/env_maker.h"
#include "node/env/project_files.h"

namespace stoker::node {

// Writes it to the file `to`, of uv.lock with the indexes that the project names (`indexes`, for an
// older uv): passwords may be among them. False: the tool is not there, and the job has a setup, to
// which it is left, which is said. kInvalid, with what to do: the tool is not there, or failed.
Result<bool> ExportLock(const EnvMaker& by, const ProjectAsk& ask,
                        const std::vector<ProjectIndex>& indexes, const std::string& to);

}  // namespace stoker::node
