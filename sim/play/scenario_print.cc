// SPDX-License-Identifier: Apache-2.0
// Plans as scenarios, and what scenarios expect.
#include <algorithm>

#include "sim/play/scenario.h"
#include "sim/play/scenario_fields.h"

namespace stoker::sim {
namespace {

template <typename T>
std::string ValueOf(const Field<T>& field, int64_t value) {
  switch (field.unit) {
    case Unit::kYesNo:
      return value != 0 ? "yes" : "no";
    case Unit::kWord:
      return field.words.at(static_cast<size_t>(value));
    case Unit::kTime:
      return value == -1 ? "never" : FormatDuration(Duration::Ms(value));
    case Unit::kNumber:
      break;
  }
  return std::to_string(value);
}

// " name value" of each that is not as it would be anyway.
template <typename T>
std::string Pairs(const std::vector<Field<T>>& fields, const T& of) {
  static const T untouched{};
  std::string text;
  for (const Field<T>& field : fields) {
    const auto values = field.get(of);
    if (values == field.get(untouched)) continue;
    for (const int64_t value : values) text += " " + field.name + " " + ValueOf(field, value);
  }
  return text;
}

template <typename T>
std::string LineOf(const std::string& head, const std::vector<Field<T>>& fields, const T& of) {
  const std::string pairs = Pairs(fields, of);
  return pairs.empty() ? "" : head + pairs + "\n";
}

std::string PlanLines(const Plan& plan) {
  static const Plan untouched;
  std::string text = "seed " + std::to_string(plan.seed) + "\nnobody-looks\n";
  for (const Field<Plan>& field : PlanFields()) {
    const auto values = field.get(plan);
    if (values == field.get(untouched)) continue;
    text += field.name + " " + ValueOf(field, values.at(0)) + "\n";
  }
  for (const Zone& zone : plan.zones) {
    const bool bounded = zone.capacity != Zone().capacity;
    const bool named = zone.name != "zone-a" || !zone.provider.empty() || zone.price > 0;
    if (plan.zones.size() == 1 && !named && !bounded) break;
    text += "zone " + zone.name;
    if (bounded) text += " capacity " + std::to_string(zone.capacity);
    if (!zone.provider.empty()) text += " of " + zone.provider;
    if (zone.price > 0) text += " price " + std::to_string(zone.price);
    text += "\n";
  }
  return text;
}

std::string FaultLine(const FaultPlan& fault) {
  std::string text = "fault " + fault.kind;
  if (!fault.on.empty()) text += " on " + fault.on;
  if (fault.number != 0) text += " " + std::to_string(fault.number);
  if (!fault.who.empty()) text += " who " + fault.who;
  if (!fault.zone.empty()) text += " zone " + fault.zone;
  return text + Pairs(FaultFields(), fault) + "\n";
}

int64_t Measure(const Expectation& wanted, const World& world) {
  if (wanted.what == "lives") return world.lives;
  if (wanted.what == "time") return world.now();
  if (wanted.what == "machines") return static_cast<int64_t>(world.cloud().machines().size());
  if (wanted.what == "strikes") {
    const auto found = world.strikes().find(wanted.kind);
    return found == world.strikes().end() ? 0 : found->second;
  }
  int64_t most = 0;
  int64_t count = 0;
  for (const auto& [id, job] : world.jobs()) {
    most = std::max(most, static_cast<int64_t>(job.attempts.size()));
    if (wanted.what == "succeeded" && job.state == JobState::kSucceeded) ++count;
    if (wanted.what == "failed" && job.state == JobState::kFailed) ++count;
    for (const Attempt& attempt : job.attempts) {
      const bool moved = attempt.ending && attempt.ending->reason == EndReason::kMoved;
      if (wanted.what == "moved" && moved) ++count;
    }
    if (wanted.what == "cancelled" && job.state == JobState::kCancelled) ++count;
  }
  return wanted.what == "attempts" ? most : count;
}

}  // namespace

std::string PrintScenario(const Plan& plan) {
  std::string text = PlanLines(plan);
  text += LineOf("store", BucketFields(), plan.bucket);
  text += LineOf("cloud", CloudFields(), plan.cloud);
  for (const JobPlan& job : plan.jobs) {
    text += "job" + Pairs(JobFields(), job) + "\n";
    text += LineOf("  program", ProgramFields(), job.program);
  }
  for (const ControllerPlan& controller : plan.controllers) {
    const auto& kinds = ControllerFields().front().words;
    text += "controller " + kinds.at(static_cast<size_t>(controller.kind));
    ControllerPlan rest = controller;
    rest.kind = ControllerPlan().kind;
    text += Pairs(ControllerFields(), rest) + "\n";
  }
  for (const FaultPlan& fault : plan.faults) text += FaultLine(fault);
  return text;
}

Status Met(const std::vector<Expectation>& expectations, const World& world) {
  for (const Expectation& wanted : expectations) {
    const int64_t is = Measure(wanted, world);
    if (is >= wanted.low && is <= wanted.high) continue;
    return Status(Code::kInvalid, "line " + std::to_string(wanted.line) + " expects other " +
                                      wanted.what + (wanted.kind.empty() ? "" : " " + wanted.kind) +
                                      ": there are " + std::to_string(is));
  }
  return Status::Ok();
}

}  // namespace stoker::sim
