// SPDX-License-Identifier: Apache-2.0
// Records of the first format: one entry was launch and request, for one slot. Private to the
// encoding.
#pragma once

#include <vector>

#include "job/job.h"

namespace stoker {

struct OneSlotLaunch {
  Launch launch;
  Request request;
};

// The launches of `job`, each with its request.
std::vector<OneSlotLaunch> OneSlotLaunches(const Job& job);
// Puts launches and requests of `entries` into `job`: a request has its launch's number.
void TakeOneSlotLaunches(std::vector<OneSlotLaunch> entries, Job* job);

}  // namespace stoker
