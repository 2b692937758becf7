// SPDX-License-Identifier: Apache-2.0
// What a machine says that could not begin (cloud_scripts.h), as it is read from outside. Inside
// provider/ only. Pure.
#pragma once

#include <optional>
#include <string>

#include "job/boot_failure.h"

namespace stoker::cloud {

// What is the cloud's own in that.
struct BootAdvice {
  std::string no_route;  // what to do where there is no way from there to the store
  std::string denied;    // where the store denies the machine the binary
  // There is a way, as far as the cloud's own tables tell, or they were not to be had: then it was
  // an outage, whatever it looked like from there.
  bool has_route = true;
};

// Out of what its console or its like has; unset: it has said nothing of that.
std::optional<BootFailure> BootFailureIn(const std::string& said, const BootAdvice& advice);

// Whether that takes a look at the cloud's tables: it says that there is no way.
bool SaysNoRoute(const std::string& said);

}  // namespace stoker::cloud
