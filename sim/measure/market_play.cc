// SPDX-License-Identifier: Apache-2.0
#include "sim/measure/market_play.h"

#include <algorithm>
#include <memory>

#include "ledger/paths.h"
#include "sim/check/checks.h"
#include "sim/measure/work_watch.h"
#include "sim/time/clock.h"

namespace stoker::sim {
namespace {

Plan PlanOfSetting(const MarketSetting& setting) {
  Plan plan = PlanLongJob(setting.job, setting.seed);
  plan.name = setting.label;
  plan.limit = setting.limit_ms;
  plan.controllers.push_back({ControllerKind::kDaemon, 0, -1, setting.controller_ms});
  plan.zones.clear();
  for (const MarketZone& zone : setting.zones) plan.zones.push_back({zone.name, 0});
  if (plan.zones.empty()) plan.zones.push_back({"always"});
  return plan;
}

using Markets = std::vector<std::unique_ptr<Market>>;

// How much of [0, to) there was room for the whole gang, zones taken together.
int64_t OpenShare(const Markets& markets, int64_t to, int nodes) {
  if (markets.empty() || to <= 0) return 1000;
  constexpr int64_t kSteps = 2'000;
  int64_t open = 0;
  for (int64_t i = 0; i < kSteps; ++i) {
    int room = 0;
    for (const auto& market : markets) room += market->CapacityAt(to * i / kSteps);
    if (room >= nodes) ++open;
  }
  return open * 1000 / kSteps;
}

}  // namespace

MarketOutcome PlayMarket(const MarketSetting& setting) {
  World world(PlanOfSetting(setting));
  const Checks checks = WatchAll(world);
  WorkWatch work(world);
  Markets markets;
  for (const MarketZone& zone : setting.zones) {
    MarketPlay play;
    play.zone = zone.name;
    play.offset_ms = setting.offset_ms;
    play.times = setting.job.nodes;
    play.lead = setting.lead;
    markets.push_back(std::make_unique<Market>(world.scheduler(), world.cloud(), zone.trace, play));
    // The first event of all: zones have their capacity before anybody asks.
    world.scheduler().At(0, [market = markets.back().get()] { market->Start(); });
  }
  world.Run();
  MarketOutcome outcome;
  outcome.breach = world.breach();
  outcome.report = Bill(world.cloud(), world.now(), "", setting.price);
  outcome.report.label = setting.label;
  outcome.report.restarts = work.restarts();
  outcome.report.lost_work_ms = work.redone_ms();
  for (const auto& pause : work.Pauses(1)) outcome.stood_still_ms += pause.to - pause.from;
  for (const auto& [id, job] : world.jobs()) {
    outcome.state = Name(job.state);
    outcome.launches = static_cast<int64_t>(job.launches.size());
    // The store's clock is true time; the job was submitted at its beginning.
    if (job.ended) outcome.report.finish_ms = job.ended->ms - kEpochMs;
    const Bucket::Entry* const record = world.bucket().Find(paths::Record(id));
    if (record != nullptr) outcome.record_bytes = record->info.size;
  }
  const int64_t until = outcome.report.finish_ms < 0 ? world.now() : outcome.report.finish_ms;
  outcome.open_share = OpenShare(markets, until, setting.job.nodes);
  return outcome;
}

}  // namespace stoker::sim
