// SPDX-License-Identifier: Apache-2.0
// Copies of stoker below the state folder, from which machines of this computer run, of whatever
// store their jobs are.
#pragma once

#include "base/status.h"
#include "client/open/client.h"
#include "ledger/ledger.h"

namespace stoker::client {

// Removes those that nothing has used for `age`. In use are those that a machine or a request on
// this computer names, of any ledger, and those that an active job of `ledger` names; what cannot
// be read, and may name any of them, keeps all: the error says what. Returns how many went.
Result<int64_t> ClearBinaries(Client& client, Ledger& ledger, Duration age, bool dry_run);

}  // namespace stoker::client
