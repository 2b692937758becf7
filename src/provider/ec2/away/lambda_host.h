// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "port/away.h"
#include "port/broker.h"

namespace stoker {

// A function of Lambda that EventBridge calls: each five minutes, and when something happens to an
// instance of its region. Its parts are named by the ledger, so that they are found again. Errors:
// there is no account to ask with.
Result<std::unique_ptr<AwayHost>> MakeLambdaHost(const ProviderOptions& options);

}  // namespace stoker
