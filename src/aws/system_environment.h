// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aws/environment.h"

namespace stoker {

// This machine's: its variables, files, home and clock; `http` and `run` as in AwsEnvironment.
// Nothing may change the process's environment while it is in use.
AwsEnvironment SystemAwsEnvironment(HttpSend http, decltype(AwsEnvironment::run) run);

}  // namespace stoker
