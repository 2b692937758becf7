// SPDX-License-Identifier: Apache-2.0
// Words that are passed on to Slurm's sbatch: what they may look like. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

// A name of Slurm's, or an expression of names ("a100|h100"): 1-200 of letters, digits and
// "._,:&|*()[]+@%/-", no '-' first.
bool IsSlurmWord(std::string_view word);

// Why an option of sbatch may not be given; "" = it may. It is "--NAME" or "--NAME=VALUE", and none
// that stoker sets itself or that would make something else than one job of the request.
std::string WhyNoSlurmOption(std::string_view option);

// "8h", "1d12h", and as sbatch takes it where that is clear: "1-12", "1-12:30:00", "12:00:00".
Result<Duration> ParseSlurmTime(std::string_view text);

}  // namespace stoker
