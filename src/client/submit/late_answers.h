// SPDX-License-Identifier: Apache-2.0
// Clouds that take a request at once and say later that there is no room.
#pragma once

#include "base/status.h"
#include "client/open/client.h"
#include "controller/controller.h"

namespace stoker::client {

// So long, at most, whoever submits and leaves stays to hear it: afterwards nobody may look.
inline constexpr Duration kHearWithin = Duration::Seconds(60);

// Looks after the job until its machines are given for certain, or it ends, or that time is over,
// and says that it does. `pass`: the first look. What the last look saw, or its error.
Result<PassResult> AwaitLateAnswers(Client& client, Controller& controller, PassResult pass);

}  // namespace stoker::client
