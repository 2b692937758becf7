// SPDX-License-Identifier: Apache-2.0
#include "cli/gce_sweep.h"

#include "ledger/places.h"
#include "provider/gce/gce_provider.h"

namespace stoker::cli {

Result<std::vector<std::string>> EndExpiredOfGoogle(Context& context, bool dry_run) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const auto places, NotedPlaces(ledger->store(), kGceProvider));
  if (places.empty()) return std::vector<std::string>();
  STOKER_ASSIGN(Provider * gce, context.provider(kGceProvider));
  STOKER_ASSIGN(const auto api, context.compute());
  return SweepGce(*gce, *api, ledger->id(), dry_run);
}

void SweepGoogleAloud(Context& context) {
  const auto ended = EndExpiredOfGoogle(context, false);
  if (!ended.ok()) context.Say("machines of Google are kept: " + ended.status().ToString());
  for (const std::string& id : ended.value_or({})) {
    context.Say("ended " + id + " of Google: its time was over");
  }
}

}  // namespace stoker::cli
