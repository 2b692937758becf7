// SPDX-License-Identifier: Apache-2.0
// Clouds that take a request at once and say later that there is no room.
#pragma once

#include "base/status.h"
#include "client/open/client.h"
#include "controller/controller.h"

namespace stoker::client {

// Looks after the job until its machines are given for certain, or it ends, or a minute is over:
// afterwards nobody may look. Says that it does. `pass`: the first look. What the last look saw, or
// its error.
Result<PassResult> AwaitLateAnswers(Client& client, Controller& controller, PassResult pass);

}  // namespace stoker::client
