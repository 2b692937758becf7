// SPDX-License-Identifier: Apache-2.0
// Copies of stoker below the state folder, from which machines of this computer run, of whatever
// store their jobs are.
#pragma once

#include <string>

#include "base/status.h"
#include "client/open/client.h"
#include "ledger/ledger.h"

namespace stoker::client {

// The bytes of the file at `path`, which have this digest, as a blob of the ledger.
Status StoreFile(Ledger& ledger, const std::string& digest, const std::string& path);

// The digest of this very binary, with its blob in the ledger and a copy below the state folder
// from which machines of this computer run. Cheap when nothing changed.
Result<std::string> StoreBinary(Client& client);

// For machines that this computer starts: the copy below the state folder of a binary that a job
// was submitted with, out of the ledger where it is not there.
Status BringBinary(Client& client, const std::string& digest);

// Removes those that nothing has used for `age`. In use are those that a machine or a request on
// this computer names, of any ledger, and those that an active job of `ledger` names; what cannot
// be read, and may name any of them, keeps all: the error says what. Returns how many went.
Result<int64_t> ClearBinaries(Client& client, Ledger& ledger, Duration age, bool dry_run);

}  // namespace stoker::client
