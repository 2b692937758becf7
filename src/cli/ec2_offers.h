// SPDX-License-Identifier: Apache-2.0
// What Amazon EC2 offers a job.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/context.h"
#include "job/request.h"
#include "spec/job_spec.h"

namespace stoker::cli {

// As ResolveOffers, of `--infra aws/…`. Only asks. What such machines could not see is refused: a
// store in a folder, inputs on this disk, secrets; a bucket of Google's, unless it knows them.
Result<std::vector<Offer>> ResolveEc2Offers(Context& context, const JobSpec& spec);

// As CompleteOffers, of what ResolveEc2Offers gave.
Status CompleteEc2(Context& context, int64_t blob_period, std::vector<Offer>* offers);

}  // namespace stoker::cli
