// SPDX-License-Identifier: Apache-2.0
// Cancels that could not be written into the record, for a disk without any room: remembered on
// this machine by the name of an empty file, and written by whichever command finds room first.
#pragma once

#include <string>

#include "client/open/client.h"
#include "ledger/ledger.h"

namespace stoker::client {

// Makes the folder for them while there is room.
void PrepareLateCancels(const Client& client);
// False: not even an empty file could be made.
bool RememberCancel(const Client& client, const Ledger& ledger, const std::string& job);
// Writes those of `ledger` that can be written now. Before anything may start a job again.
void WriteLateCancels(Client& client, Ledger& ledger);

}  // namespace stoker::client
