// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_holdings.h"

#include <algorithm>
#include <set>
#include <utility>

#include "provider/gce/compute_api.h"
#include "provider/gce/gce_fleet.h"
#include "provider/gce/gce_placement.h"
#include "provider/gce/gce_request.h"

namespace stoker {
namespace {

// Of the regions in which anything was ever asked for.
void AddPolicies(gce::ComputeApi& api, const std::vector<std::string>& places,
                 const std::string& ledger_id, const std::set<std::string>& used,
                 GceHoldings* out) {
  std::set<std::pair<std::string, std::string>> regions;
  for (const std::string& place : places) {
    const size_t dot = place.rfind('.');
    if (dot == std::string::npos) continue;
    regions.emplace(place.substr(0, dot), gce::RegionOf(place.substr(dot + 1)));
  }
  for (const auto& [project, region] : regions) {
    auto found = gce::ListPolicies(api, project, region, ledger_id);
    if (found.status().Is(Code::kDenied)) {
      out->denied.push_back(found.status());
      continue;
    }
    if (!found.ok()) {
      out->unheard.push_back({Place{kGceProvider, project, region, ""}, found.status()});
      continue;
    }
    for (const gce::Policy& policy : *found) {
      GceHolding one;
      one.policy = one.own = true;
      one.in_use = used.contains(policy.name);
      one.project = project;
      one.zone = policy.zone;
      one.seen.id = policy.name;
      one.seen.ledger_id = policy.ledger_id;
      one.seen.job = policy.job;
      out->machines.push_back(std::move(one));
    }
  }
}

}  // namespace

Result<GceHoldings> ListGceHoldings(gce::ComputeApi& api, const std::vector<std::string>& places,
                                    const std::string& ledger_id) {
  STOKER_ASSIGN(const std::string filter, gce::InstancesFilter(ledger_id, ""));
  cloud::Notes notes;  // of which a list needs no other
  notes.places = [&]() -> Result<std::vector<std::string>> { return places; };
  gce::Fleet fleet(api, notes);
  STOKER_ASSIGN(gce::Fleet::Heard heard, fleet.ListAll(filter));
  GceHoldings out;
  out.now = api.Now();  // known from the list
  out.unheard = std::move(heard.unheard);
  std::set<std::string> used;
  for (gce::Instance& instance : heard.instances) {
    used.insert(instance.policies.begin(), instance.policies.end());
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
  AddPolicies(api, places, ledger_id, used, &out);
  return out;
}

Status EndGcePolicy(gce::ComputeApi& api, const GceHolding& policy) {
  return gce::DeletePolicy(api, policy.project, gce::RegionOf(policy.zone), policy.seen.id);
}

bool IsExpired(const GceHolding& holding, WallTime now) {
  return holding.own && holding.seen.expires.ms > 0 && holding.seen.expires < now;
}

}  // namespace stoker
