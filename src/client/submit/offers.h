// SPDX-License-Identifier: Apache-2.0
// How a job's machines can be had, resolved when it is submitted, and what speaks against it.
#pragma once

#include <string>
#include <vector>

#include "client/open/client.h"
#include "job/request.h"
#include "port/broker.h"
#include "spec/job_spec.h"

namespace stoker::client {

// The ways to have machines for `spec`, those of each of its choices; at least one. What could
// never be had, or could not see the job's store, code or inputs, is refused here, before anything
// is made: kInvalid, with what to do. Of several choices those are left out, and said, that do not
// answer, and this machine where it has not what is asked for.
// `has_private`: this machine keeps secrets or variables for the job.
Result<std::vector<Offer>> ResolveOffers(Client& client, const JobSpec& spec, WallTime submitted,
                                         bool has_private);

// Of the place of one choice (ChoicesOf).
const BrokerTraits& TraitsOfChoice(const JobSpec& choice);
// One of its choices is a place of which that holds.
bool AnyChoiceHas(const JobSpec& spec, bool BrokerTraits::*trait);

// Once code and binary are stored: what else the machines of `offers` are made of.
Status CompleteOffers(Client& client, const std::string& binary_digest, std::vector<Offer>* offers);

// Before the work directory is packed: what ResolveOffers would refuse without asking anybody.
Status CheckPlace(const JobSpec& spec);

}  // namespace stoker::client
