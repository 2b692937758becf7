// SPDX-License-Identifier: Apache-2.0
#include "client/clear/holdings.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <set>

#include "base/json.h"
#include "base/text.h"
#include "client/open/settings_notes.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

using nlohmann::json;

constexpr Duration kSweepEvery = Duration::Minutes(15);

// Of ledgers that 'config set store --new' gave up: nobody looks after what they have.
std::set<std::string> GivenUp(Client& client, const Ledger& ledger) {
  std::set<std::string> ids;
  std::set<std::string> alive = {ledger.id()};
  for (const StoreNote& note : SettingsNotes(client.places()).All()) {
    ids.insert(note.replaced.begin(), note.replaced.end());
    alive.insert(note.ids.begin(), note.ids.end());
  }
  std::erase_if(ids, [&](const std::string& id) { return alive.contains(id) || !IsSafeName(id); });
  return ids;
}

// In millionths of a dollar, by the present price.
std::optional<int64_t> CostUntil(const Holding& thing, WallTime now) {
  if (!thing.price || thing.since.ms == 0 || now < thing.since) return std::nullopt;
  return static_cast<int64_t>(static_cast<double>(*thing.price) *
                              static_cast<double>((now - thing.since).ms) / 3.6e6);
}

json ToJson(const Swept& swept, const BrokerTraits& provider, WallTime now) {
  const auto dollars = [](const std::optional<int64_t>& millionths) {
    return millionths ? json(static_cast<double>(*millionths) / 1e6) : json(nullptr);
  };
  const auto time = [](WallTime at) { return at.ms > 0 ? json(FormatRfc3339(at)) : json(nullptr); };
  const Holding& one = swept.thing;
  json out = {{"provider", provider.name},
              {"kind", one.kind == HoldingKind::kMachine ? "instance" : one.word},
              {"id", one.id},
              {"region", one.place.region},
              {"zone", one.place.zone},
              {"what", one.what},
              {"state", one.state},
              {"job", one.job},
              {"since", time(one.since)},
              {"expires", time(one.expires)},
              {"price", dollars(one.price)},
              {"cost", dollars(CostUntil(one, now))},
              {"over", swept.over},
              {"trouble", swept.ended.ok() ? "" : swept.ended.ToString()}};
  if (!one.place.account.empty()) out["project"] = one.place.account;
  return out;
}

}  // namespace

std::vector<ProviderSweep> SweepProviders(Client& client, SweepRequest request) {
  std::vector<ProviderSweep> out;
  const auto ledger = client.ledger();
  if (!ledger.ok()) return out;
  request.given_up = GivenUp(client, **ledger);
  for (Broker* broker : client.brokers().value_or({})) {
    auto swept = SweepProvider(**ledger, *broker, request);
    if (swept.ok()) {
      out.push_back({&broker->traits(), std::move(*swept)});
    } else {
      client.Say(broker->traits().machines + (" are kept: " + swept.status().ToString()));
    }
  }
  return out;
}

void SweepProvidersAtTimes(Client& client) {
  const auto ledger = client.ledger();
  if (!ledger.ok()) return;
  const std::string marks = client.places().state + "/swept";
  const std::string mark = marks + "/" + (*ledger)->id();
  struct stat info {};
  if (::stat(mark.c_str(), &info) == 0) {
    const WallTime last{static_cast<int64_t>(info.st_mtim.tv_sec) * 1000};
    const Duration since = client.clock().Wall() - last;
    if (since.ms >= 0 && since < kSweepEvery) return;
  }
  // Where it cannot be written, this costs some requests more.
  (void)sys::MakeDirs(marks, 0700);
  (void)sys::WriteFileAtomic(mark, "");
  for (const ProviderSweep& sweep : SweepProviders(client, {})) {
    const std::string title = sweep.provider->title;
    for (const std::string& trouble : sweep.found.troubles) {
      client.Say(title + ": " + Printable(trouble));
    }
    for (const Swept& one : sweep.found.things) {
      if (one.over.empty()) continue;
      const std::string what =
          one.thing.id + " of " + title + " in " + one.thing.place.region + ": " + one.over;
      client.Say(one.ended.ok() ? "ended " + what : what + ", and stays: " + one.ended.ToString());
    }
  }
}

std::string HoldingLine(const Holding& one, WallTime now) {
  const auto& [provider, account, region, zone] = one.place;
  const std::string& where = !zone.empty() ? zone : !region.empty() ? region : account;
  std::string text = one.word + " " + one.id + " in " + where + ": " + one.what;
  if (!one.state.empty()) text += ", " + one.state;
  if (!one.job.empty()) text += ", of job " + one.job;
  if (!one.remark.empty()) text += ", " + one.remark;
  if (one.since.ms > 0 && one.since <= now) text += ", for " + HumanDuration(now - one.since);
  if (one.kind == HoldingKind::kMachine) {
    text += ", " + PriceText(one.price);
    if (const auto cost = CostUntil(one, now)) {
      text += fmt::format(", about {:.2f} $", static_cast<double>(*cost) / 1e6);
    }
  }
  return Printable(text);
}

json ToJson(const std::vector<ProviderSweep>& sweeps) {
  json regions = json::array();
  json things = json::array();
  json troubles = json::array();
  for (const ProviderSweep& sweep : sweeps) {
    for (const std::string& region : sweep.found.regions) regions.push_back(region);
    for (const auto* list : {&sweep.found.troubles, &sweep.found.forbidden}) {
      for (const std::string& trouble : *list) troubles.push_back(trouble);
    }
    for (const Swept& one : sweep.found.things) {
      things.push_back(ToJson(one, *sweep.provider, sweep.found.now));
    }
  }
  return {{"regions", regions}, {"things", things}, {"troubles", troubles}};
}

}  // namespace stoker::client
