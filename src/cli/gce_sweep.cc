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

}  // namespace stoker::cli
