// SPDX-License-Identifier: Apache-2.0
// What Amazon EC2 offers a job.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "job/request.h"
#include "spec/job_spec.h"

namespace stoker::cli {

// Its nodes are machines that a cloud makes for it.
bool IsInCloud(const JobSpec& spec);

// As ResolveOffers, of `--infra aws/…`; none for any other job. Only asks. What such machines could
// not see is refused: a store in a folder, inputs on this disk, secrets.
Result<std::vector<Offer>> ResolveEc2Offers(Context& context, const JobSpec& spec);

// Once code and binary are stored: what else the machines are made of.
Status CompleteOffers(Context& context, const std::string& binary_digest,
                      std::vector<Offer>* offers);

}  // namespace stoker::cli
