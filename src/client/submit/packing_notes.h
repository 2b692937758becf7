// SPDX-License-Identifier: Apache-2.0
// What is said about a work directory at submit.
#pragma once

#include <string>
#include <vector>

#include "job/job.h"
#include "pack/left_behind.h"
#include "pack/listing.h"

namespace stoker::client {

// The largest of what lies at the top of it: "data/ 3.2 GB, model.bin 1.1 GB, 12 more 3 kB".
std::string LargestParts(const pack::Listing& listing);

// What git ignores and is left behind, with how to take it along; "" = nothing.
std::string LeftBehindText(const pack::LeftBehind& left);

// For the job's record, within its bounds.
std::vector<LeftOut> LeftOutOf(const pack::LeftBehind& left);

}  // namespace stoker::client
