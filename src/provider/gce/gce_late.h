// SPDX-License-Identifier: Apache-2.0
// Requests that Google takes at once, and may refuse later.
#pragma once

#include <string>

#include "base/status.h"
#include "port/provider.h"

namespace stoker {

// Whether Google may still refuse what this very provider, one of MakeGceProvider, has asked for
// under `token`: the operation of it has not ended. Asks Google until it has. False also for what
// it never asked for, and of any other provider. Errors: as those of Describe. Thread-safe.
Result<bool> MayStillRefuse(Provider& provider, const std::string& token);

}  // namespace stoker
