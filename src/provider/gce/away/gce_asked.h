// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "base/status.h"
#include "controller/away/bound.h"
#include "job/request.h"

namespace stoker {

// "us-central1" of "us-central1-a"; "" = it is no zone's name. Pure.
std::string RegionOfZone(const std::string& zone);
// "us-central1" of that and of "us-central1-a": names of regions end in a digit. Pure.
std::string RegionOf(const std::string& word);

// What a record's request for one machine of Compute Engine comes to. Its type has what is attached
// behind it: "n1-standard-8/nvidia-tesla-t4:1"; its region is that of its zone, whatever the record
// calls it; no price of it is known here. kInvalid: it is for no
// machine of Compute Engine, or names no size of its disk. kDenied: in none of `places` (GcePlace).
// Pure.
Result<AskedMachine> AskedOfGce(const Ask& ask, const std::set<std::string>& places);

}  // namespace stoker
