// SPDX-License-Identifier: Apache-2.0
#include "cli/cloud_sweep.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "aws/account/account.h"
#include "aws/config.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cloud_records.h"
#include "cli/gce_sweep.h"
#include "cli/settings_notes.h"
#include "ledger/places.h"
#include "provider/ec2/ec2_prices.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

using nlohmann::json;

constexpr Duration kSweepEvery = Duration::Minutes(15);

// Nobody asks for machines in it any more.
bool IsLeft(const Ec2Holding& thing, CloudRecords& records) {
  return thing.kind == Ec2Kind::kPlacement && !thing.in_use && records.IsOver(thing.job);
}

bool HasEnded(const Ec2Holding& thing, CloudRecords& records) {
  return thing.kind == Ec2Kind::kInstance && records.HasEnded(thing.job, thing.token, thing.index);
}

Result<std::vector<std::string>> RegionsToLookIn(Context& context, Ledger& ledger,
                                                 bool all_regions) {
  STOKER_ASSIGN(const auto noted, NotedPlaces(ledger.store(), kEc2Provider));
  if (!all_regions) return noted;
  STOKER_ASSIGN(const auto api, context.aws());
  std::string ask = noted.empty() ? "" : noted.front();
  if (ask.empty()) {
    STOKER_ASSIGN(const AwsAccount account, FindAwsAccount());
    ask = AwsRegion(account.outside, account.config);
  }
  STOKER_ASSIGN(const auto told, Ec2Regions(*api, ask.empty() ? "us-east-1" : ask));
  std::set<std::string> all(told.begin(), told.end());
  all.insert(noted.begin(), noted.end());
  return std::vector<std::string>(all.begin(), all.end());
}

const char* KindText(Ec2Kind kind) {
  switch (kind) {
    case Ec2Kind::kInstance:
      return "instance";
    case Ec2Kind::kVolume:
      return "volume";
    case Ec2Kind::kGroup:
      return "security group";
    case Ec2Kind::kRule:
      return "rule";
    case Ec2Kind::kPlacement:
      return "placement group";
  }
  return "";
}

// Of ledgers that 'config set store --new' gave up: nobody looks after what they have.
std::set<std::string> GivenUp(Context& context, const Ledger& ledger) {
  std::set<std::string> ids;
  std::set<std::string> alive = {ledger.id()};
  for (const StoreNote& note : SettingsNotes(context.places()).All()) {
    ids.insert(note.replaced.begin(), note.replaced.end());
    alive.insert(note.ids.begin(), note.ids.end());
  }
  std::erase_if(ids, [&](const std::string& id) { return alive.contains(id) || !IsSafeName(id); });
  return ids;
}

// What such a ledger has in `region`. Its machines end when their time is over, as everywhere; its
// security group once no machine is in it.
void SweepGivenUp(ec2::AwsApi& api, const std::string& region, const std::string& id, bool dry_run,
                  CloudSweep* out) {
  auto found = Ec2Holdings(api, region, id, &out->troubles);
  if (!found.ok()) return out->troubles.push_back(found.status().ToString());
  bool lives = false;
  for (const Ec2Holding& one : *found) lives |= one.kind == Ec2Kind::kInstance && !one.gone;
  for (Ec2Holding& one : *found) {
    if (one.gone) continue;
    CloudThing thing;
    if (IsExpired(one, Ec2Now(api))) thing.over = "its time was over " + FormatRfc3339(one.expires);
    const bool shared = one.kind == Ec2Kind::kGroup || one.kind == Ec2Kind::kPlacement;
    if (shared && !lives) thing.over = "its ledger " + id + " was given up";
    if (!thing.over.empty() && !dry_run) thing.ended = EndEc2Holding(api, one);
    thing.thing = std::move(one);
    out->things.push_back(std::move(thing));
  }
}

// In millionths of a dollar, by the present price.
std::optional<int64_t> CostUntil(const Ec2Holding& thing, WallTime now) {
  if (!thing.price || thing.since.ms == 0 || now < thing.since) return std::nullopt;
  return static_cast<int64_t>(static_cast<double>(*thing.price) *
                              static_cast<double>((now - thing.since).ms) / 3.6e6);
}

}  // namespace

Result<CloudSweep> SweepCloud(Context& context, bool all_regions, bool dry_run) {
  CloudSweep out;
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(out.regions, RegionsToLookIn(context, *ledger, all_regions));
  if (out.regions.empty()) return out;
  STOKER_ASSIGN(const auto api, context.aws());
  CloudRecords records(*ledger);
  const std::set<std::string> given_up = GivenUp(context, *ledger);
  for (const std::string& region : out.regions) {
    auto found = Ec2Holdings(*api, region, ledger->id(), &out.troubles);
    if (!found.ok()) {
      out.troubles.push_back(found.status().ToString());
      continue;
    }
    out.now = Ec2Now(*api);
    for (Ec2Holding& one : *found) {
      if (one.gone) continue;
      CloudThing thing;
      if (HasEnded(one, records)) thing.over = kEndedByRecord;
      if (IsLeft(one, records)) thing.over = "its job has ended";
      if (thing.over.empty() && IsExpired(one, out.now)) {
        thing.over = "its time was over " + FormatRfc3339(one.expires);
      }
      if (!thing.over.empty() && !dry_run) thing.ended = EndEc2Holding(*api, one);
      thing.thing = std::move(one);
      out.things.push_back(std::move(thing));
    }
    for (const std::string& id : given_up) SweepGivenUp(*api, region, id, dry_run, &out);
  }
  return out;
}

void SweepCloudAtTimes(Context& context) {
  const auto ledger = context.ledger();
  if (!ledger.ok()) return;
  const std::string marks = context.places().state + "/swept";
  const std::string mark = marks + "/" + (*ledger)->id();
  struct stat info {};
  if (::stat(mark.c_str(), &info) == 0) {
    const WallTime last{static_cast<int64_t>(info.st_mtim.tv_sec) * 1000};
    const Duration since = context.clock().Wall() - last;
    if (since.ms >= 0 && since < kSweepEvery) return;
  }
  // Where it cannot be written, this costs some requests more.
  (void)sys::MakeDirs(marks, 0700);
  (void)sys::WriteFileAtomic(mark, "");
  SweepGoogleAloud(context);
  const auto swept = SweepCloud(context, false, false);
  if (!swept.ok()) return context.Say("machines of EC2 are kept: " + swept.status().ToString());
  for (const std::string& trouble : swept->troubles) context.Say("EC2: " + Printable(trouble));
  for (const CloudThing& one : swept->things) {
    if (one.over.empty()) continue;
    const std::string what = one.thing.id + " in " + one.thing.region + ": " + one.over;
    context.Say(one.ended.ok() ? "ended " + what : what + ", and stays: " + one.ended.ToString());
  }
}

std::string CloudLine(const CloudThing& thing, WallTime now) {
  const Ec2Holding& one = thing.thing;
  std::string text = std::string(KindText(one.kind)) + " " + one.id + " in " +
                     (one.zone.empty() ? one.region : one.zone) + ": " + one.what;
  if (!one.state.empty()) text += ", " + one.state;
  if (!one.job.empty()) text += ", of job " + one.job;
  if (one.since.ms > 0 && one.since <= now) text += ", for " + HumanDuration(now - one.since);
  if (one.kind == Ec2Kind::kInstance) {
    text += ", " + Ec2PriceText(one.price);
    if (const auto cost = CostUntil(one, now)) {
      text += fmt::format(", about {:.2f} $", static_cast<double>(*cost) / 1e6);
    }
  }
  return Printable(text);
}

json ToJson(const CloudSweep& sweep) {
  json things = json::array();
  const auto dollars = [](const std::optional<int64_t>& millionths) {
    return millionths ? json(static_cast<double>(*millionths) / 1e6) : json(nullptr);
  };
  const auto time = [](WallTime at) { return at.ms > 0 ? json(FormatRfc3339(at)) : json(nullptr); };
  for (const CloudThing& thing : sweep.things) {
    const Ec2Holding& one = thing.thing;
    things.push_back({{"provider", kEc2Provider},
                      {"kind", KindText(one.kind)},
                      {"id", one.id},
                      {"region", one.region},
                      {"zone", one.zone},
                      {"what", one.what},
                      {"state", one.state},
                      {"job", one.job},
                      {"since", time(one.since)},
                      {"expires", time(one.expires)},
                      {"price", dollars(one.price)},
                      {"cost", dollars(CostUntil(one, sweep.now))},
                      {"over", thing.over},
                      {"trouble", thing.ended.ok() ? "" : thing.ended.ToString()}});
  }
  return {{"regions", sweep.regions}, {"things", things}, {"troubles", sweep.troubles}};
}

}  // namespace stoker::cli
