// SPDX-License-Identifier: Apache-2.0
// Machines that come up and cannot begin. Every draw is a statement of its own.
#include "sim/bugs/draw.h"
#include "sim/bugs/plans.h"

namespace stoker::sim {
namespace {

constexpr int64_t kMinute = 60'000;
constexpr int64_t kHour = 60 * kMinute;

FaultPlan At(const char* kind, int64_t at, int64_t amount) {
  FaultPlan fault;
  fault.kind = kind;
  fault.at = at;
  fault.amount = amount;
  return fault;
}

// Whoever looks for hours looks seldom.
Draw Looks(uint64_t seed, int64_t calm) {
  Draw draw(seed);
  draw.plan.calm = calm;
  draw.plan.limit = 4 * calm + 24 * kHour;
  draw.plan.controllers = {{ControllerKind::kTimer, 0, -1, draw.Long(20'000, 60'000)},
                           {ControllerKind::kVerb, calm, -1, kMinute}};
  draw.job().attached = false;
  return draw;
}

}  // namespace

Plan NoWayOut(uint64_t seed) {
  Draw draw = Looks(seed, kHour);
  if (draw.One(2)) draw.Gang();
  draw.plan.faults = {At("no-way", 0, 200 * kHour)};
  return draw.plan;
}

Plan NoWayForAWhile(uint64_t seed) {
  Draw draw = Looks(seed, 2 * kHour);
  draw.job().program.steps = 500;
  draw.job().program.step_ms = 1'000;
  draw.plan.faults = {At("no-way", 2 * kMinute, draw.Long(20 * kMinute, 40 * kMinute)),
                      At("kill", draw.Long(3 * kMinute, 4 * kMinute), 0)};
  return draw.plan;
}

Plan OneBootOfEachNode(uint64_t seed) {
  Draw draw = Looks(seed, kHour);
  draw.Gang();
  draw.plan.faults = {At("no-way", 0, draw.Long(6 * kMinute, 7 * kMinute))};
  return draw.plan;
}

Plan OutagesOfBoots(uint64_t seed) {
  const bool long_one = seed % 2 == 1;
  Draw draw = Looks(seed, (long_one ? 14 : 2) * kHour);
  const int64_t length = long_one ? draw.Long(8 * kHour, 12 * kHour) : 20 * kMinute;
  draw.plan.faults = {At("boot-outage", 0, length)};
  return draw.plan;
}

Plan NoWayAndOutage(uint64_t seed) {
  Draw draw = Looks(seed, 2 * kHour);
  const int64_t first = draw.Long(6 * kMinute, 7 * kMinute);
  const int64_t second = first + draw.Long(6 * kMinute, 7 * kMinute);
  draw.plan.faults = {At("no-way", 0, first), At("boot-outage", first, second - first),
                      At("no-way", second, draw.Long(6 * kMinute, 7 * kMinute))};
  return draw.plan;
}

}  // namespace stoker::sim
