// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "port/away.h"
#include "port/broker.h"

namespace stoker {

// A job of Cloud Run that Cloud Scheduler runs each five minutes. Its parts are named by the
// ledger, so that they are found again.
Result<std::unique_ptr<AwayHost>> MakeCloudRunHost(const ProviderOptions& options);

}  // namespace stoker
