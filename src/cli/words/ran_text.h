// SPDX-License-Identifier: Apache-2.0
// What a job's programs ran with, told to people. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/job.h"
#include "view/ran.h"

namespace stoker::cli {

// The newest attempt's lowest node whole; of the other nodes and attempts in what they differ.
// `all`: of ReadRan.
std::string RanText(const Job& job, const std::vector<Ran>& all);

}  // namespace stoker::cli
