// SPDX-License-Identifier: Apache-2.0
// Environments of an environment.yml, by the conda, mamba or micromamba that the machine has.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "node/env/env_maker.h"
#include "node/env/requirements.h"

namespace stoker::node {

// The file that a requirements.txt without any package demands, by a comment of its name alone
// ("# environment.yml"); "" = it demands none. Pure.
std::string DemandedCondaFile(std::string_view requirements);

// On what the environment depends besides the file: on what its pip: part does. Pure.
RequirementsScope ScopeOfCondaFile(const std::string& text);

// Makes the environment of `file`, a name in the work directory, in the folder `prefix`, anew; its
// pip: part is the tool's to install. kInvalid, with what to do: no such tool is on the PATH, or it
// failed, in its own words.
Status MakeCondaEnv(const EnvMaker& by, const std::string& file, const std::string& prefix);

}  // namespace stoker::node
