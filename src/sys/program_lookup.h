// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace stoker {

// The file that execve would run for `name`: looked up in `path` (a PATH value) unless it has a
// slash; relative names and PATH entries count from `cwd`. Follows a #! line: kNotFound names the
// missing program, or the missing interpreter of a script (also behind "/usr/bin/env NAME");
// kDenied = there, but not executable.
Result<std::string> FindProgram(const std::string& name, const std::string& path,
                                const std::string& cwd);

}  // namespace stoker
