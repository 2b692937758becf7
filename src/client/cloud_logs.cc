// SPDX-License-Identifier: Apache-2.0
#include "client/cloud_logs.h"

#include <algorithm>
#include <utility>

#include "provider/registry.h"

namespace stoker::client {

std::vector<CloudLogQuery> CloudLogsOf(const Ledger& ledger, const Job& job, const JobSpec* spec) {
  std::vector<CloudLogQuery> all;
  if (spec == nullptr || !spec->logs.cloud) return all;
  for (const Request& request : job.requests) {
    // Where none came there is no line.
    const bool came = std::any_of(job.launches.begin(), job.launches.end(), [&](const auto& one) {
      return one.request == request.number && !one.instance_id.empty();
    });
    if (!came) continue;
    CloudLogPlace place;
    place.ledger = ledger.id();
    place.job = job.id;
    place.place = request.ask.place;
    place.days = spec->logs.days.value_or(LogsSpec::kDays);
    const auto query = CloudLogOf(place.place.provider).query;
    if (query == nullptr) continue;
    CloudLogQuery found = query(place);
    const auto same = [&](const CloudLogQuery& one) { return one.command == found.command; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(found));
  }
  return all;
}

}  // namespace stoker::client
