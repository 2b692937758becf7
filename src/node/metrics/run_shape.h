// SPDX-License-Identifier: Apache-2.0
// What two runs of one program have in common in their paths. Pure.
#pragma once

#include <string>
#include <string_view>

namespace stoker::node {

// A path without what loggers count or stamp, so that the same program on another day has the same:
// version_3, PPO_1, exp2, dates, times, numbers of jobs, random ids, and the name of the machine
// (`host`, or what stands where SummaryWriter puts it). "fold_1", "seed_2" and "lr_0.1" stay: they
// say which run it is.
std::string ShapeOf(const std::string& path, std::string_view host);

}  // namespace stoker::node
