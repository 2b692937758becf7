// SPDX-License-Identifier: Apache-2.0
#include "job/first_format.h"

#include <utility>

namespace stoker {

std::vector<OneSlotLaunch> OneSlotLaunches(const Job& job) {
  std::vector<OneSlotLaunch> entries;
  entries.reserve(job.launches.size());
  for (const Launch& launch : job.launches) entries.push_back({launch, RequestOf(job, launch)});
  return entries;
}

void TakeOneSlotLaunches(std::vector<OneSlotLaunch> entries, Job* job) {
  for (auto& [launch, request] : entries) {
    request.number = launch.request = launch.number;
    request.slots = {launch.slot};
    job->requests.push_back(std::move(request));
    job->launches.push_back(std::move(launch));
  }
}

}  // namespace stoker
