// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/context.h"

namespace stoker::cli {

// Asks on the terminal; without one the answer is no.
bool Confirm(Context& context, const std::string& question);

}  // namespace stoker::cli
