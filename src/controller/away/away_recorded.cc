// SPDX-License-Identifier: Apache-2.0
#include "controller/away/away_recorded.h"

#include <algorithm>
#include <utility>

#include "controller/all_jobs.h"
#include "ledger/records.h"

namespace stoker {
namespace {

// After the last moment at which a request may be sent, what it has made shows within this.
constexpr Duration kAppears = Duration::Minutes(1);

// Who was told so may not have it; another may have got it a moment before, and its answer is on
// the way (seed 45001135747). Lists show it soon.
bool IsDeniedToOne(const Request& request, WallTime now) {
  return request.refusal->what == RefusalClass::kDenied && request.tries > 1 &&
         now < request.opened + kAppears;
}

// Of `job`, at `provider`: what is there or was asked for, and no record says is gone. A request
// that is past its time, and of which no machine has come, has none.
void AddRecorded(const JobRead& read, const std::string& provider,
                 std::vector<AwayRecorded>* recorded) {
  for (const Launch& launch : read.job.launches) {
    const Request& request = RequestOf(read.job, launch);
    if (launch.closed || request.ask.place.provider != provider) continue;
    const bool open = request.tries > 0 && read.store_now < request.not_after + kAppears;
    const bool sent = open && (!request.refusal || IsDeniedToOne(request, read.store_now));
    if (launch.instance_id.empty() && !sent) continue;
    recorded->push_back({AskedKey(read.job.id, request.ask.place, request.token), launch.index});
  }
}

}  // namespace

RecordedMachines::RecordedMachines(Ledger& ledger, std::string provider)
    : ledger_(ledger), provider_(std::move(provider)) {}

Result<std::vector<AwayRecorded>> RecordedMachines::All() {
  if (!by_job_) STOKER_TRY(ReadAll());
  std::vector<AwayRecorded> all;
  for (const auto& [job, its] : *by_job_) all.insert(all.end(), its.begin(), its.end());
  return all;
}

void RecordedMachines::Changed(const std::string& job) {
  if (by_job_ && !Read(job, &*by_job_).ok()) by_job_.reset();
}

void RecordedMachines::Drop(const std::string& what) {
  if (!by_job_) return;
  for (auto& [job, its] : *by_job_) {
    std::erase_if(its, [&](const AwayRecorded& one) { return one.what == what; });
  }
}

Status RecordedMachines::ReadAll() {
  ByJob all;
  STOKER_ASSIGN(const std::vector<std::string> ids, ActiveJobs(ledger_));
  for (const std::string& id : ids) STOKER_TRY(Read(id, &all));
  by_job_ = std::move(all);
  return Status::Ok();
}

Status RecordedMachines::Read(const std::string& id, ByJob* all) {
  const auto read = ReadJob(ledger_, id);
  if (read.status().transient()) return read.status();
  std::vector<AwayRecorded>& its = (*all)[id];
  its.clear();
  if (read.ok()) AddRecorded(*read, provider_, &its);
  return Status::Ok();
}

}  // namespace stoker
