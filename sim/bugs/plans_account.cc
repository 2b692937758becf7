// SPDX-License-Identifier: Apache-2.0
// Worlds of an account that is shared, swept, or costs.
#include <array>

#include "sim/bugs/draw.h"
#include "sim/bugs/plans.h"

namespace stoker::sim {

Plan LookAlikes(uint64_t seed) {
  Draw draw(seed);
  draw.plan.lists_all = draw.One(2);
  draw.Faults("foreigner", 6, 600'000, 1'200'000);
  draw.Faults("notice", 1, 3'000, 20'000);
  draw.Daemons(1);
  return draw.plan;
}

Plan NextDoor(uint64_t seed) {
  Draw draw(seed);
  draw.plan.lists_all = true;
  draw.plan.neighbour = draw.Long(1, 1'000'000);
  draw.Daemons(1);
  return draw.plan;
}

Plan LeftToTheSweeper(uint64_t seed) {
  constexpr int64_t kHour = 3'600'000;
  Draw draw(seed);
  draw.plan.tier = Tier::kVerbs;
  draw.plan.limit = 70 * kHour;
  draw.plan.limit_needs_boot = true;
  draw.job().attached = false;
  draw.job().program.steps = 400;
  draw.job().program.step_ms = 1'000;
  const int64_t away = draw.Long(60'000, 80'000);
  draw.plan.controllers = {{ControllerKind::kDaemon, 0, away, 3'000},
                           {ControllerKind::kSweeper, 0, -1, kHour},
                           {ControllerKind::kVerb, 60 * kHour, -1, 60'000}};
  // The second machine is the one that nobody looks after.
  FaultPlan kill;
  kill.kind = "kill";
  kill.at = draw.Long(10'000, 20'000);
  FaultPlan stop;
  stop.kind = "stop";
  stop.at = away + draw.Long(1'000, 5'000);
  draw.plan.faults = {kill, stop};
  return draw.plan;
}

Plan TwoPrices(uint64_t seed) {
  Draw draw(seed);
  draw.plan.zones = {{"zone-a"}, {"zone-b"}};
  draw.plan.zones[0].price = 3'000'000;
  draw.plan.zones[1].price = 1'000'000;
  draw.job().any_zone = 1;
  return draw.plan;
}

Plan DeafZone(uint64_t seed) {
  Draw draw(seed);
  draw.plan.zones = {{"zone-a"}, {"zone-b"}};
  draw.plan.describe_is_immediate = draw.One(2);
  draw.job().any_zone = 1;
  draw.job().program.steps = 300;
  draw.job().program.step_ms = 1'000;
  draw.Daemons(1);
  FaultPlan away;
  away.kind = "zone-away";
  away.zone = "zone-a";
  away.at = draw.Long(20'000, 120'000);
  away.amount = draw.Long(60'000, 300'000);
  draw.plan.faults = {away};
  return draw.plan;
}

Plan TooDear(uint64_t seed) {
  Plan plan = TwoPrices(seed);
  plan.jobs.front().ceiling = 2'000'000;
  FaultPlan storm;
  storm.kind = "storm";
  storm.zone = "zone-b";
  storm.at = 15'000;
  storm.amount = 2'000;
  plan.faults.push_back(storm);
  return plan;
}

Plan OwnAlone(uint64_t seed) {
  Draw draw(seed);
  draw.plan.zones = {{"zone-a"}, {"zone-b"}};
  draw.plan.zones[0].provider = "local";
  draw.plan.zones[0].capacity = 0;
  draw.plan.zones[1].provider = "ec2";
  draw.plan.nodes_ask_own = true;
  draw.job().any_zone = 1;
  draw.job().program.steps = 600;
  draw.job().program.step_ms = 1'000;
  // By then the first choice may be asked again.
  FaultPlan notice;
  notice.kind = "notice";
  notice.at = draw.Long(200'000, 400'000);
  notice.amount = draw.Long(20'000, 60'000);
  draw.plan.faults = {notice};
  return draw.plan;
}

Plan EndedByHand(uint64_t seed) {
  Draw draw(seed);
  draw.plan.describe_is_immediate = true;
  draw.job().program.steps = 400;
  draw.job().program.step_ms = 1'000;
  draw.Daemons(1);
  FaultPlan end;
  end.kind = "owner-ends";
  end.at = draw.Long(70'000, 200'000);
  end.amount = std::array{0, 2'000, 6'000, 25'000}[seed % 4];
  draw.plan.faults = {end};
  return draw.plan;
}

}  // namespace stoker::sim
