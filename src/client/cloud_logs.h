// SPDX-License-Identifier: Apache-2.0
// Where people find a job's lines in its clouds' own logs (`logs: {cloud: true}`).
#pragma once

#include <vector>

#include "job/job.h"
#include "ledger/ledger.h"
#include "port/cloud_log.h"
#include "spec/job_spec.h"

namespace stoker::client {

// Once for each region or project in which its machines were asked for; none where it asks for no
// such log. `spec` may be null.
std::vector<CloudLogQuery> CloudLogsOf(const Ledger& ledger, const Job& job, const JobSpec* spec);

}  // namespace stoker::client
