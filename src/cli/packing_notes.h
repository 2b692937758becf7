// SPDX-License-Identifier: Apache-2.0
// What is said about a work directory at submit.
#pragma once

#include <string>

#include "pack/listing.h"

namespace stoker::cli {

// The largest of what lies at the top of it: "data/ 3.2 GB, model.bin 1.1 GB, 12 more 3 kB".
std::string LargestParts(const pack::Listing& listing);

// What git ignores and is left behind, with how to take it along; "" = nothing.
std::string WhatIsLeftBehind(const pack::Listing& listing);

}  // namespace stoker::cli
