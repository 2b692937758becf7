// SPDX-License-Identifier: Apache-2.0
// requirements.txt of a work directory, and the files below it that it names.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "job/packed_code.h"
#include "node/env/login/login.h"

namespace stoker::node {

struct RequirementFile {
  std::string name;  // relative to the work directory
  std::string text;
};

// requirements.txt first; empty when there is none. At most 50, of 1 MiB each: what cannot be read,
// or lies elsewhere, is pip's to say.
std::vector<RequirementFile> ReadRequirementFiles(const std::string& workdir);

// Writes them into `folder` (made anew) with the commits of `pins` in the place of what may move,
// and without logins, which become `logins`, as work directories are not written to; the first is
// the path that it returns. Where nothing is another there, it is the work directory's own.
Result<std::string> WritePinnedFiles(const std::string& workdir, const std::vector<Pin>& pins,
                                     const std::string& folder, const VariableSource& variable,
                                     std::vector<AddressLogin>* logins);

}  // namespace stoker::node
