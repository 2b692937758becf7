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
                 const std::string& ledger_id, const std::set<std::string>& used, Holdings* out) {
  std::set<std::pair<std::string, std::string>> regions;
  for (const std::string& place : places) {
    const size_t dot = place.rfind('.');
    if (dot == std::string::npos) continue;
    regions.emplace(place.substr(0, dot), gce::RegionOf(place.substr(dot + 1)));
  }
  for (const auto& [project, region] : regions) {
    auto found = gce::ListPolicies(api, project, region, ledger_id);
    if (found.status().Is(Code::kDenied)) {
      out->forbidden.push_back(found.status().ToString());
      continue;
    }
    if (!found.ok()) {
      out->troubles.push_back(found.status().ToString());
      continue;
    }
    for (const gce::Policy& policy : *found) {
      Holding one;
      one.kind = HoldingKind::kPlacement;
      one.word = "placement policy";
      one.id = policy.name;
      one.place = {kGceProvider, project, region, policy.zone};
      one.what = "near each other";
      one.job = policy.job;
      one.in_use = used.contains(policy.name);
      out->all.push_back(std::move(one));
    }
  }
}

const char* StateText(InstanceState state) {
  switch (state) {
    case InstanceState::kQueued:
      return "queued";
    case InstanceState::kRequested:
      return "requested";
    case InstanceState::kBooting:
      return "booting";
    case InstanceState::kRunning:
      return "running";
    case InstanceState::kStopping:
      return "stopping";
    case InstanceState::kStopped:
      return "stopped";
    case InstanceState::kGone:
      return "gone";
  }
  return "";
}

Holding OfVm(const gce::Instance& instance, const std::string& project, WallTime now) {
  const InstanceSeen& seen = instance.seen;
  const bool own = gce::IsNamedByRequest(seen);
  Holding one;
  one.word = "VM";
  one.id = seen.id;
  one.place = {kGceProvider, project, gce::RegionOf(instance.zone), instance.zone};
  one.what = instance.type + " " + instance.market;
  one.state = StateText(seen.state);
  one.job = seen.job;
  one.index = seen.index;
  if (own) one.token = seen.token;
  if (!own) one.remark = "made by somebody else like one of stoker's";
  if (seen.up_for) one.since = now - *seen.up_for;
  one.expires = seen.expires;
  return one;
}

}  // namespace

Result<Holdings> ListGceHoldings(gce::ComputeApi& api, const std::vector<std::string>& places,
                                 const std::string& ledger_id) {
  STOKER_ASSIGN(const std::string filter, gce::InstancesFilter(ledger_id, ""));
  cloud::Notes notes;  // of which a list needs no other
  notes.places = [&]() -> Result<std::vector<std::string>> { return places; };
  gce::Fleet fleet(api, notes);
  STOKER_ASSIGN(gce::Fleet::Listing heard, fleet.ListAll(filter));
  Holdings out;
  out.now = api.Now();  // known from the list
  for (const Unheard& silent : heard.unheard) out.troubles.push_back(silent.why.ToString());
  std::set<std::string> used;
  for (const gce::Instance& instance : heard.instances) {
    used.insert(instance.policies.begin(), instance.policies.end());
    if (instance.seen.state == InstanceState::kGone) continue;
    if (instance.seen.ledger_id != ledger_id) continue;
    const auto place = fleet.PlaceOf(instance.seen.id);
    out.all.push_back(OfVm(instance, place ? place->first : "", out.now));
  }
  AddPolicies(api, places, ledger_id, used, &out);
  return out;
}

Status EndGcePolicy(gce::ComputeApi& api, const Holding& policy) {
  return gce::DeletePolicy(api, policy.place.account, policy.place.region, policy.id);
}

}  // namespace stoker
