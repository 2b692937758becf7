// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace stoker::node {

// On what the environment that a requirements.txt describes depends, besides the file itself.
enum class RequirementsScope {
  kFile,       // nothing: packages and addresses
  kCode,       // also files of the work directory: ./pkg, -r more.txt, a wheel
  kDirectory,  // on the very folder, which it refers to after the installation: -e .
};

// Format: pip.pypa.io/en/stable/reference/requirements-file-format. Pure. In doubt about a line it
// says kCode, which costs a new environment with every change of the code.
RequirementsScope ScopeOfRequirements(std::string_view text);

}  // namespace stoker::node
