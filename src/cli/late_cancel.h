// SPDX-License-Identifier: Apache-2.0
// Cancels that could not be written into the record, for a disk without any room: remembered on
// this machine by the name of an empty file, and written by whichever command finds room first.
#pragma once

#include <string>

#include "cli/context.h"
#include "ledger/ledger.h"

namespace stoker::cli {

// Makes the folder for them while there is room.
void PrepareLateCancels(const Context& context);
// False: not even an empty file could be made.
bool RememberCancel(const Context& context, const Ledger& ledger, const std::string& job);
// Writes those of `ledger` that can be written now. Before anything may start a job again.
void WriteLateCancels(Context& context, Ledger& ledger);

}  // namespace stoker::cli
