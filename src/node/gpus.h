// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stoker::node {

// NVIDIA devices of this machine, by their device files: no driver call, so it answers at once and
// also where nvidia-smi is missing.
int CountGpus();

}  // namespace stoker::node
