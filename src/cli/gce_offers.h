// SPDX-License-Identifier: Apache-2.0
// What Google Compute Engine offers a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/context.h"
#include "google/gcloud_config.h"
#include "job/request.h"
#include "spec/job_spec.h"

namespace stoker::cli {

// As ResolveOffers, of `--infra gcp/…`. Only asks. What such machines could not see is refused: a
// store that is no bucket of Google's, inputs elsewhere, secrets.
Result<std::vector<Offer>> ResolveGceOffers(Context& context, const JobSpec& spec);

// As CompleteOffers, of what ResolveGceOffers gave.
Status CompleteGce(Context& context, int64_t blob_period, std::vector<Offer>* offers);

// The setting, else what Google's other tools have: GOOGLE_CLOUD_PROJECT, else `gcloud`'s own. "" =
// none is set.
std::string GoogleProject(const Settings& settings, const GcloudConfig& gcloud);

}  // namespace stoker::cli
