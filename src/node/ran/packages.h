// SPDX-License-Identifier: Apache-2.0
// Which packages a Python finds, by the names of their metadata: no Python is started for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job/run_facts.h"

namespace stoker::node {

// Of `folders`, in the order in which they are looked through: the first of a name counts. By name;
// at most kMostPackages, those that come first.
std::vector<Package> ReadPackages(const std::vector<std::string>& folders);

// As packaging.python.org/specifications/name-normalization says. Pure.
std::string NormalizedName(std::string_view name);

}  // namespace stoker::node
