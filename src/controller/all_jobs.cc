// SPDX-License-Identifier: Apache-2.0
#include "controller/all_jobs.h"

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
    const std::function<bool()>& enough) {
  AllJobsResult result;
  STOKER_ASSIGN(const std::vector<std::string> ids, ActiveJobs(ledger));
  result.active = static_cast<int>(ids.size());
  for (const std::string& id : ids) {
    if (enough && enough()) break;
    const auto pass = controller.Pass(id);
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
