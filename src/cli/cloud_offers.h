// SPDX-License-Identifier: Apache-2.0
// What is the same for every cloud that makes machines: what they can reach, and what they are made
// of besides.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "job/request.h"
#include "spec/job_spec.h"

namespace stoker::cli {

// Its nodes are, or may be, machines that a cloud makes for it.
bool IsInCloud(const JobSpec& spec);

// kInvalid: `machines` ("machines of EC2") could not reach the job's store or inputs, which are to
// begin with one of `schemes`, the usual one first, or its secrets, of which `secrets_next` says
// what to do.
Status CheckReach(const JobSpec& spec, const std::string& store_url,
                  const std::vector<std::string>& schemes, const std::string& machines,
                  const std::string& secrets_next);

// A service that stands in for the cloud's must be reached from machines, too. `variable`: where
// its address comes from. kInvalid: it is on this machine alone.
Status CheckEndpoint(const std::string& what, const std::string& endpoint,
                     const std::string& variable);

// Once code and binary are stored: what else the machines of clouds among them are made of.
Status CompleteOffers(Context& context, const std::string& binary_digest,
                      std::vector<Offer>* offers);

}  // namespace stoker::cli
