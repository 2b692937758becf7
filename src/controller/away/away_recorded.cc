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
  if (!all_) {
    STOKER_ASSIGN(all_, Read());
  }
  return *all_;
}

void RecordedMachines::Drop(const std::string& what) {
  if (all_) std::erase_if(*all_, [&](const AwayRecorded& one) { return one.what == what; });
}

Result<std::vector<AwayRecorded>> RecordedMachines::Read() {
  std::vector<AwayRecorded> all;
  STOKER_ASSIGN(const std::vector<std::string> ids, ActiveJobs(ledger_));
  for (const std::string& id : ids) {
    const auto read = ReadJob(ledger_, id);
    if (read.status().transient()) return read.status();
    if (read.ok()) AddRecorded(*read, provider_, &all);
  }
  return all;
}

}  // namespace stoker
