// SPDX-License-Identifier: Apache-2.0
// From a job and the settings to what EC2 is asked for.
#pragma once

#include "base/status.h"
#include "port/broker.h"
#include "provider/ec2/ec2_resolve.h"

namespace stoker {

// As Broker::Reach: a store in a folder and inputs on this disk are refused; a bucket of Google's
// too, unless it knows such machines.
Status CheckEc2Reach(const OfferAsk& ask, const Settings& settings);

// Of a job whose reach is good. kInvalid: a service that stands in for Amazon's is on this machine
// alone.
Result<Ec2Wish> Ec2WishOf(const OfferAsk& ask, const Settings& settings,
                          const std::function<void(const std::string&)>& say);

}  // namespace stoker
