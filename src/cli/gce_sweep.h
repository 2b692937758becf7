// SPDX-License-Identifier: Apache-2.0
// VMs of Google whose time is over.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace stoker::cli {

// Ends every VM of the ledger, in all places that it ever noted, whose own label says that its time
// is past by Google's clock, whatever any record says; nothing else. Their ids. With `dry_run` it
// only looks. Errors: what could not be asked; some may have been ended.
Result<std::vector<std::string>> EndExpiredOfGoogle(Context& context, bool dry_run);

// The same, and says what it has ended, and what stood in the way.
void SweepGoogleAloud(Context& context);

}  // namespace stoker::cli
