// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace stoker {

// Where this process is such a function, as its environment says: looks after jobs whenever Lambda
// calls, and returns the exit code. Unset: it is none.
std::optional<int> LambdaMain();

}  // namespace stoker
