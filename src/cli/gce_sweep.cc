// SPDX-License-Identifier: Apache-2.0
#include "cli/gce_sweep.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cli/cloud_records.h"
#include "ledger/places.h"
#include "provider/ec2/ec2_prices.h"
#include "provider/gce/gce_provider.h"

namespace stoker::cli {
namespace {

using nlohmann::json;

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

std::string WhyOver(const GceHolding& machine, WallTime now, CloudRecords& records) {
  const InstanceSeen& seen = machine.seen;
  // Nobody asks for machines in it any more.
  if (machine.policy) {
    return !machine.in_use && records.IsOver(seen.job) ? "its job has ended" : "";
  }
  if (machine.own && records.HasEnded(seen.job, seen.token, seen.index)) return kEndedByRecord;
  return IsExpired(machine, now) ? "its time was over " + FormatRfc3339(seen.expires) : "";
}

}  // namespace

Result<GoogleSweep> SweepGoogle(Context& context, bool by_hand, bool dry_run) {
  GoogleSweep out;
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const auto places, NotedPlaces(ledger->store(), kGceProvider));
  if (places.empty()) return out;
  STOKER_ASSIGN(Provider * gce, context.provider(kGceProvider));
  STOKER_ASSIGN(const auto api, context.compute());
  STOKER_ASSIGN(GceHoldings held, ListGceHoldings(*api, places, ledger->id()));
  out.now = held.now;
  for (const Unheard& silent : held.unheard) out.troubles.push_back(silent.why.ToString());
  for (const Status& denied : held.denied) {
    if (by_hand) out.troubles.push_back(denied.ToString());
  }
  CloudRecords records(*ledger);
  for (GceHolding& machine : held.machines) {
    GoogleThing thing;
    thing.over = WhyOver(machine, held.now, records);
    if (!thing.over.empty() && !dry_run) {
      thing.ended = machine.policy ? EndGcePolicy(*api, machine) : gce->Terminate(machine.seen.id);
    }
    thing.machine = std::move(machine);
    out.things.push_back(std::move(thing));
  }
  return out;
}

void SweepGoogleAloud(Context& context) {
  const auto swept = SweepGoogle(context, false, false);
  if (!swept.ok()) return context.Say("machines of Google are kept: " + swept.status().ToString());
  for (const std::string& trouble : swept->troubles) context.Say("Google: " + Printable(trouble));
  for (const GoogleThing& one : swept->things) {
    if (one.over.empty()) continue;
    const std::string what = one.machine.seen.id + " of Google: " + one.over;
    context.Say(one.ended.ok() ? "ended " + what : what + ", and stays: " + one.ended.ToString());
  }
}

std::string GoogleLine(const GoogleThing& thing) {
  const GceHolding& machine = thing.machine;
  const InstanceSeen& seen = machine.seen;
  if (machine.policy) {
    return Printable("placement policy " + seen.id + " in " + machine.zone + ", of job " +
                     seen.job);
  }
  std::string text = "VM " + seen.id + " in " + machine.zone + ": " + machine.type + " " +
                     machine.market + ", " + StateText(seen.state);
  if (!seen.job.empty()) text += ", of job " + seen.job;
  if (!machine.own) text += ", made by somebody else like one of stoker's";
  if (seen.up_for) text += ", for " + HumanDuration(*seen.up_for);
  return Printable(text + ", " + Ec2PriceText(std::nullopt));
}

json ThingsToJson(const GoogleSweep& sweep) {
  json things = json::array();
  for (const GoogleThing& thing : sweep.things) {
    const GceHolding& machine = thing.machine;
    const InstanceSeen& seen = machine.seen;
    const auto time = [](bool known, WallTime at) {
      return known ? json(FormatRfc3339(at)) : json(nullptr);
    };
    const WallTime since = sweep.now - seen.up_for.value_or(Duration());
    things.push_back(
        {{"provider", kGceProvider},
         {"kind", machine.policy ? "placement policy" : "instance"},
         {"id", seen.id},
         {"region", machine.zone.substr(0, machine.zone.rfind('-'))},
         {"zone", machine.zone},
         {"project", machine.project},
         {"what", machine.policy ? "near each other" : machine.type + " " + machine.market},
         {"state", machine.policy ? "" : StateText(seen.state)},
         {"job", seen.job},
         {"since", time(seen.up_for.has_value(), since)},
         {"expires", time(seen.expires.ms > 0, seen.expires)},
         {"price", nullptr},
         {"cost", nullptr},
         {"over", thing.over},
         {"trouble", thing.ended.ok() ? "" : thing.ended.ToString()}});
  }
  return things;
}

}  // namespace stoker::cli
