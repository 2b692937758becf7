// SPDX-License-Identifier: Apache-2.0
#include "controller/all_jobs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ledger/paths.h"
#include "ledger/records.h"

namespace stoker {
namespace {

// A submit that died between the marker and the record leaves a marker of no job. One that is still
// at work must not lose it.
constexpr Duration kOrphanMarker = Duration::Hours(1);

void RemoveOrphan(Ledger& ledger, const std::string& id) {
  const auto marker = ledger.store().Get(paths::Active(id));
  if (marker.ok() && marker->store_now - marker->info.last_modified > kOrphanMarker) {
    (void)RemoveActive(ledger, id);
  }
}

}  // namespace

Result<AllJobsResult> PassAll(
    Ledger& ledger, Controller& controller,
    const std::function<void(const std::string& id, const Result<PassResult>&)>& each,
    const std::function<bool(const std::string& next)>& enough, const std::string& after) {
  AllJobsResult result;
  STOKER_ASSIGN(std::vector<std::string> ids, ActiveJobs(ledger));
  result.active = static_cast<int>(ids.size());
  controller.KeepOnly({ids.begin(), ids.end()});
  // Where it fails, every job is still looked at by itself; so is one that is alone.
  std::optional<LedgerSnapshot> look;
  if (ids.size() > 1) {
    auto taken = LedgerSnapshot::Take(ledger, ids);
    if (taken.ok()) look.emplace(std::move(*taken));
  }
  std::sort(ids.begin(), ids.end());
  std::rotate(ids.begin(), std::upper_bound(ids.begin(), ids.end(), after), ids.end());
  for (const std::string& id : ids) {
    if (enough && enough(id)) break;
    const auto pass = look ? controller.Pass(id, *look) : controller.Pass(id);
    if (pass.ok()) {
      ++result.passed;
    } else if (pass.status().Is(Code::kNotFound)) {
      RemoveOrphan(ledger, id);
    } else {
      ++result.failed;
      if (result.first_failure.ok()) result.first_failure = pass.status();
    }
    if (each) each(id, pass);
  }
  return result;
}

}  // namespace stoker
