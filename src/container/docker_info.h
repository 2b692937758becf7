// SPDX-License-Identifier: Apache-2.0
// What docker's daemon tells of itself. Pure.
#pragma once

#include <string_view>

#include "container/engine_argv.h"

namespace stoker {

// `text`: of "docker info --format={{json .}}". Sets `rootless`, `nvidia`, `cdi` and `folder`; what
// is no such answer tells nothing.
void ReadDockerInfo(std::string_view text, EngineFacts* engine);

}  // namespace stoker
