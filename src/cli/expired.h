// SPDX-License-Identifier: Apache-2.0
// Machines of clouds whose time is over.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace stoker::cli {

// Ends every machine of the ledger, in all places that it ever noted, whose own tag says that its
// time is past by the cloud's clock, whatever any record says; nothing else. Their ids. With
// `dry_run` it only looks. Errors: what could not be asked; some may have been ended.
Result<std::vector<std::string>> EndExpired(Context& context, bool dry_run);

}  // namespace stoker::cli
