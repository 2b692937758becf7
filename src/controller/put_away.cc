// SPDX-License-Identifier: Apache-2.0
// A job that has ended leaves the list of active ones once nothing of it is left to be removed.
#include <utility>

#include "base/deliberate_bug.h"
#include "controller/controller.h"
#include "ledger/index.h"
#include "ledger/records.h"

namespace stoker {
namespace {

// By then Google has ended them; a parameter of SSM stays, for 'stoker gc' (docs/secrets.md).
constexpr Duration kHeldForSecrets = Duration::Hours(90 * 24);

}  // namespace

// True: they are gone, or this process has no way to them; then a sweep removes them.
Result<bool> Controller::ForgetSecrets(const Job& job, const JobSpec& spec, WallTime store_now) {
  if (!forget_ || job.secrets_in.empty()) return true;
  if (job.ended && store_now - *job.ended > kHeldForSecrets) return true;
  const MonoTime now = clock_.Mono();
  const auto known = forgotten_.find(job.id);
  const bool rests = known != forgotten_.end() && now - known->second.at < kForgetAgain;
  const bool gone = known != forgotten_.end() && known->second.last.value_or(false);
  if (!gone && !rests) {
    Result<bool> forgot = forget_(job, spec);
    if (!forgot.ok()) {
      forgot = forgot.status().WithContext(
          "its secrets still lie in the vault, and the job is not put away until they can be "
          "removed");
    }
    forgotten_.insert_or_assign(job.id, Forgotten{std::move(forgot), now});
  }
  return forgotten_.at(job.id).last;
}

Status Controller::Retire(const Job& job) {
  const Status indexed = AppendSummary(ledger_, job);
  if (!indexed.ok() && !BugIsOn("retires-unindexed")) return indexed;
  const Status removed = RemoveActive(ledger_, job.id);
  return indexed.ok() ? removed : indexed;
}

}  // namespace stoker
