// SPDX-License-Identifier: Apache-2.0
// The folder that something was fetched into.
#pragma once

#include <string>

#include "client/open/client.h"
#include "transfer/transfer.h"

namespace stoker::client {

// How it is filled, with checkpoints too: files and ranges at once, to begin with, and bytes in
// memory.
inline constexpr TransferOptions kGetMoves{32, 8, int64_t{128} << 20};

// Lets the next job that is packed around `folder`, which was made for this, leave it out.
void LeaveUnpacked(const std::string& folder);

// Says so when `folder`, an absolute path, lies in the work directory that `job` was packed from:
// the next job that is packed there would take it along.
void SayIfPacked(Client& client, const std::string& job, const std::string& folder);

}  // namespace stoker::client
