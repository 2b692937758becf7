// SPDX-License-Identifier: Apache-2.0
// What a cloud's machine was made from, as it is written where the machine, and whoever looks after
// it, reads it. Inside provider/ only. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/provider.h"

namespace stoker::cloud {

// Where a machine keeps what it is, its lease and the node's folder.
inline constexpr char kInstanceDir[] = "/var/lib/stoker";
inline constexpr char kNodeDir[] = "/var/lib/stoker/node";
// In kInstanceDir: seconds since 1970, when the machine ends itself.
inline constexpr char kDeadlineFile[] = "deadline";
// In kInstanceDir: there once the machine is kept (keep_failed), and its deadline stays.
inline constexpr char kKeptFile[] = "kept";

// All of the request that the agent needs, as JSON.
std::string EncodeLaunch(const LaunchRequest& request);
// `provider`: whose machine has it. kCorrupt, kTooNew.
Result<LaunchRequest> ParseLaunch(const std::string& text, const std::string& provider);

// Absolute, from the entry alone: the latest end of a machine that came as late as it may.
WallTime FirstExpiry(const LaunchRequest& request);

// "3-6 9": numbers in their order, as a tag, with `separator` between; those that find no place in
// `most` characters are left out at the end.
std::string EncodeLaunches(const std::vector<int>& launches, char separator, size_t most);
// The number at `index`; 0 = not told.
int LaunchAt(std::string_view text, char separator, int index);

}  // namespace stoker::cloud
