// SPDX-License-Identifier: Apache-2.0
// What this machine keeps for jobs and no ledger has (client/submit/private_env.h), once they end.
#pragma once

#include "client/open/client.h"

namespace stoker::client {

// Removes the files of jobs that have ended. Quiet: whatever fails is for the next one.
void ForgetPrivate(Client& client);

}  // namespace stoker::client
