// SPDX-License-Identifier: Apache-2.0
#include "cli/cloud_records.h"

#include <utility>

#include "base/text.h"

namespace stoker::cli {

bool CloudRecords::HasEnded(const std::string& job, const std::string& token, int index) {
  if (token.empty() || !IsSafeName(job)) return false;
  const JobRead* read = Read(job);
  if (read == nullptr) return false;
  for (const Request& request : read->job.requests) {
    if (request.token != token) continue;
    for (const Launch& launch : read->job.launches) {
      if (launch.request != request.number || launch.index != index) continue;
      return launch.closed && !IsKept(launch, read->store_now);
    }
  }
  return false;
}

bool CloudRecords::IsOver(const std::string& job) {
  if (!IsSafeName(job)) return false;
  const JobRead* read = Read(job);
  return read == nullptr ? lost_.contains(job) : IsFinal(read->job.state);
}

const JobRead* CloudRecords::Read(const std::string& id) {
  const auto known = jobs_.find(id);
  if (known != jobs_.end()) return known->second ? &*known->second : nullptr;
  auto read = ReadJob(ledger_, id);
  auto& job = jobs_[id];
  if (read.status().Is(Code::kNotFound)) lost_.insert(id);
  if (read.ok()) job = std::move(*read);
  return job ? &*job : nullptr;
}

}  // namespace stoker::cli
