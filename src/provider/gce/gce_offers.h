// SPDX-License-Identifier: Apache-2.0
// From a job and the settings to what Compute Engine is asked for.
#pragma once

#include "base/status.h"
#include "port/broker.h"
#include "provider/gce/gce_resolve.h"

namespace stoker {

// As Broker::Reach: a store that is no bucket of Google's and inputs elsewhere are refused.
Status CheckGceReach(const OfferAsk& ask);

// Of a job whose reach is good. `say` is told what does not go along. kInvalid: a service that
// stands in for Google's is on this machine alone.
Result<GceWish> GceWishOf(const OfferAsk& ask, const Settings& settings,
                          const std::function<void(const std::string&)>& say);

}  // namespace stoker
