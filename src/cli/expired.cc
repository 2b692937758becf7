// SPDX-License-Identifier: Apache-2.0
#include "cli/expired.h"

#include "ledger/places.h"
#include "provider/ec2/ec2_provider.h"

namespace stoker::cli {

Result<std::vector<std::string>> EndExpired(Context& context, bool dry_run) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const auto regions, NotedPlaces(ledger->store(), kEc2Provider));
  if (regions.empty()) return std::vector<std::string>();
  STOKER_ASSIGN(Provider * ec2, context.provider(kEc2Provider));
  STOKER_ASSIGN(const auto api, context.aws());
  return SweepEc2(*ec2, *api, ledger->id(), dry_run);
}

}  // namespace stoker::cli
