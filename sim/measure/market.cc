// SPDX-License-Identifier: Apache-2.0
#include "sim/measure/market.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/time.h"

namespace stoker::sim {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostSeconds = 86'400;
constexpr int64_t kMostMachines = 1'000'000;

Status Bad(const std::string& name, const std::string& what) {
  return Status(Code::kInvalid, name + ": " + what,
                "a trace is {\"metadata\": {\"gap_seconds\": 195}, \"data\": [0, 1, …]}");
}

// Whole numbers of [low, high]; nullopt for all else.
std::optional<int64_t> Whole(const Json& value, int64_t low, int64_t high) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(high)) {
    return std::nullopt;
  }
  const auto number = value.get<int64_t>();
  if (number < low || number > high) return std::nullopt;
  return number;
}

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

int64_t CeilDiv(int64_t a, int64_t b) { return -FloorDiv(-a, b); }

std::string Dollars(int64_t micro) {
  char text[40];
  std::snprintf(text, sizeof text, "$%lld.%04lld", static_cast<long long>(micro / 1'000'000),
                static_cast<long long>(micro % 1'000'000 / 100));
  return text;
}

}  // namespace

Result<Trace> ParseTrace(std::string_view text, const std::string& name) {
  const Json all = Json::parse(text, nullptr, false);
  if (all.is_discarded()) return Bad(name, "it is not JSON");
  if (!all.is_object()) return Bad(name, "it is not a JSON object");
  const auto metadata = all.find("metadata");
  if (metadata == all.end() || !metadata->is_object() || !metadata->contains("gap_seconds")) {
    return Bad(name, "metadata.gap_seconds is missing");
  }
  const auto gap = Whole(metadata->at("gap_seconds"), 1, kMostSeconds);
  if (!gap) {
    return Bad(name, "metadata.gap_seconds is not a whole number from 1 to " +
                         std::to_string(kMostSeconds));
  }
  const auto data = all.find("data");
  if (data == all.end() || !data->is_array()) return Bad(name, "data is missing or not a list");
  if (data->empty()) return Bad(name, "data is empty");
  Trace trace;
  trace.gap_ms = *gap * 1000;
  trace.available.reserve(data->size());
  for (const Json& sample : *data) {
    const auto number = Whole(sample, 0, kMostMachines);
    if (!number) {
      return Bad(name, "data[" + std::to_string(trace.available.size()) +
                           "] is not a whole number from 0 to " + std::to_string(kMostMachines));
    }
    trace.available.push_back(static_cast<int>(*number));
  }
  return trace;
}

// ---- playing ----

Market::Market(Scheduler& scheduler, Cloud& cloud, Trace trace, MarketPlay play)
    : scheduler_(scheduler), cloud_(cloud), trace_(std::move(trace)), play_(std::move(play)) {}

int Market::Sample(int64_t number) const {
  const auto length = static_cast<int64_t>(trace_.available.size());
  const int64_t within = number - FloorDiv(number, length) * length;
  const int64_t machines = int64_t{trace_.available[static_cast<size_t>(within)]} * play_.times;
  return static_cast<int>(std::min<int64_t>(machines, kMostMachines));
}

// BeginOf rounds up: a sample is never shown before its time, and NumberAt(BeginOf(n)) >= n.
int64_t Market::BeginOf(int64_t number) const {
  return start_ + CeilDiv((number * trace_.gap_ms - play_.offset_ms) * play_.percent, 100);
}

int64_t Market::NumberAt(int64_t when) const {
  const int64_t played = FloorDiv((when - start_) * 100, play_.percent);
  return FloorDiv(play_.offset_ms + played, trace_.gap_ms);
}

int64_t Market::NextChange(int64_t number) const {
  const auto length = static_cast<int64_t>(trace_.available.size());
  for (int64_t next = number + 1; next < number + length; ++next) {
    if (Sample(next) != Sample(number)) return next;
  }
  return -1;
}

void Market::Start() {
  start_ = scheduler_.now();
  running_ = std::make_shared<int>(0);
  Apply(NumberAt(start_));
}

void Market::Apply(int64_t number) {
  // First what comes next: taking machines calls hooks.
  const int64_t next = NextChange(number);
  if (next >= 0) {
    scheduler_.At(BeginOf(next), [this, next, running = std::weak_ptr(running_)] {
      if (!running.expired()) Apply(next);
    });
  }
  cloud_.SetCapacity(play_.zone, Sample(number), play_.lead);
}

int Market::CapacityAt(int64_t when) const { return Sample(NumberAt(when)); }

int64_t Market::OpenShare(int64_t from, int64_t to, int machines) const {
  if (to <= from) return 0;
  int64_t open = 0;
  for (int64_t at = from; at < to;) {
    const int64_t number = NumberAt(at);
    const int64_t end = std::min(to, std::max(at + 1, BeginOf(number + 1)));
    if (Sample(number) >= machines) open += end - at;
    at = end;
  }
  return open * 1000 / (to - from);
}

// ---- what it came to ----

MarketReport Bill(const Cloud& cloud, int64_t now, const std::string& job, const Price& price) {
  MarketReport report;
  for (const auto& [id, machine] : cloud.machines()) {
    if (!job.empty() && machine.request.job != job) continue;
    ++report.machines;
    int64_t ms = machine.ran_ms;
    if (machine.state == InstanceState::kRunning) ms += now - machine.booted_at;
    ms = std::max(ms, machine.boots * price.least_ms);
    if (price.from_request) {
      ms = std::max(ms, (machine.gone_at >= 0 ? machine.gone_at : now) - machine.made_at);
    }
    report.machine_seconds += CeilDiv(ms, 1000);
  }
  report.cost_micro_dollars = report.machine_seconds * price.micro_dollars_per_hour / 3600;
  return report;
}

std::string MarketHead() {
  char text[160];
  std::snprintf(text, sizeof text, "%-32s %10s %12s %9s %14s %9s %10s", "MARKET", "FINISH", "COST",
                "MACHINES", "MACHINE TIME", "RESTARTS", "LOST WORK");
  return text;
}

std::string MarketRow(const MarketReport& report) {
  const std::string finish =
      report.finish_ms < 0 ? "never" : HumanDuration(Duration::Ms(report.finish_ms));
  char text[240];
  std::snprintf(text, sizeof text, " %10s %12s %9d %14s %9d %10s", finish.c_str(),
                Dollars(report.cost_micro_dollars).c_str(), report.machines,
                HumanDuration(Duration::Seconds(report.machine_seconds)).c_str(), report.restarts,
                HumanDuration(Duration::Ms(report.lost_work_ms)).c_str());
  std::string label = report.label;
  label.resize(std::max<size_t>(label.size(), 32), ' ');
  return label + text;
}

}  // namespace stoker::sim
