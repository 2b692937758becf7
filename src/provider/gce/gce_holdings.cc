// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_holdings.h"

#include <utility>

#include "provider/gce/compute_api.h"
#include "provider/gce/gce_fleet.h"
#include "provider/gce/gce_request.h"

namespace stoker {

Result<GceHoldings> ListGceHoldings(gce::ComputeApi& api, const std::vector<std::string>& places,
                                    const std::string& ledger_id) {
  STOKER_ASSIGN(const std::string filter, gce::InstancesFilter(ledger_id, ""));
  GceNotes notes;  // of which a list needs no other
  notes.places = [&]() -> Result<std::vector<std::string>> { return places; };
  gce::Fleet fleet(api, notes);
  STOKER_ASSIGN(gce::Fleet::Heard heard, fleet.ListAll(filter));
  GceHoldings out;
  out.now = api.Now();  // known from the list
  out.unheard = std::move(heard.unheard);
  for (gce::Instance& instance : heard.instances) {
    if (instance.seen.state == InstanceState::kGone) continue;
    if (instance.seen.ledger_id != ledger_id) continue;
    GceHolding one;
    const auto place = fleet.PlaceOf(instance.seen.id);
    one.project = place ? place->first : "";
    one.zone = instance.zone;
    one.type = instance.type;
    one.market = instance.market;
    one.own = gce::IsNamedByRequest(instance.seen);
    one.seen = std::move(instance.seen);
    out.machines.push_back(std::move(one));
  }
  return out;
}

bool IsExpired(const GceHolding& holding, WallTime now) {
  return holding.own && holding.seen.expires.ms > 0 && holding.seen.expires < now;
}

}  // namespace stoker
