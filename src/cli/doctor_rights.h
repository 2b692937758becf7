// SPDX-License-Identifier: Apache-2.0
// What the store's bucket, and a cloud, must allow.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/terminal/context.h"

namespace stoker::cli {

// The least rights that the store's bucket must grant; with `infra`, those of the places that it
// names, too.
Status PrintRights(Context& context, const std::string& infra);

}  // namespace stoker::cli
