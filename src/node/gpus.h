// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "contract/environment.h"

namespace stoker::node {

// NVIDIA devices of this machine, by their device files: no driver call, so it answers at once and
// also where nvidia-smi is missing.
int CountGpus();

struct GrantedGpus {
  int count = 0;
  contract::Environment variables;  // by which the program sees them and no others
};

// Those that a machine which several jobs share gave to this one: `text` is "cuda:0,2", "rocm:1" or
// "cuda:" for none (kGrantedGpus, provider/local/local_boot.h). nullopt = it is something else.
std::optional<GrantedGpus> ReadGrantedGpus(const std::string& text);

}  // namespace stoker::node
