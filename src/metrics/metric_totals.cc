// SPDX-License-Identifier: Apache-2.0
#include "metrics/metric_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_fields.h"
#include "metrics/numbers.h"

namespace stoker {
namespace {

using json::Value;

constexpr size_t kMaxBytes = 8 << 20;
constexpr size_t kMaxSeries = 5000;

// JSON has no NaN: what is not finite is text.
Value ToJson(double value) {
  return std::isfinite(value) ? Value(value) : Value(NumberText(value));
}

double NumberIn(const Value& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::nan("");
  if (found->is_number()) return found->get<double>();
  if (!found->is_string()) return std::nan("");
  return metrics::ParseNumber(found->get_ref<const std::string&>()).value_or(std::nan(""));
}

int64_t WholeIn(const Value& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

std::vector<std::string> TextsIn(const Value& object, const char* name) {
  std::vector<std::string> texts;
  const auto list = object.find(name);
  if (list == object.end() || !list->is_array()) return texts;
  for (const Value& one : *list) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
  return texts;
}

Value SeriesJson(const MetricTotals::Series& series) {
  Value list = Value::array();
  for (const auto& [name, t] : series) {
    list.push_back({{"name", name},
                    {"count", t.count},
                    {"nans", t.nans},
                    {"infinite", t.infinite},
                    {"last", ToJson(t.last)},
                    {"last_step", t.last_step},
                    {"last_time", t.last_time.ms},
                    {"min", ToJson(t.min)},
                    {"min_step", t.min_step},
                    {"max", ToJson(t.max)},
                    {"max_step", t.max_step}});
  }
  return list;
}

MetricTotals::Series SeriesIn(const Value& object, const char* name) {
  MetricTotals::Series series;
  const auto list = object.find(name);
  if (list == object.end() || !list->is_array()) return series;
  for (const Value& one : *list) {
    if (!one.is_object() || !one.contains("name") || !one["name"].is_string()) continue;
    if (series.size() >= kMaxSeries) break;
    metrics::Totals t;
    t.count = WholeIn(one, "count");
    t.nans = WholeIn(one, "nans");
    t.infinite = WholeIn(one, "infinite");
    t.last = NumberIn(one, "last");
    t.last_step = WholeIn(one, "last_step");
    t.last_time.ms = WholeIn(one, "last_time");
    t.min = NumberIn(one, "min");
    t.min_step = WholeIn(one, "min_step");
    t.max = NumberIn(one, "max");
    t.max_step = WholeIn(one, "max_step");
    series[one["name"].get<std::string>()] = t;
  }
  return series;
}

}  // namespace

std::string NumberText(double value) { return fmt::format("{}", value); }

MetricTotals::Series MetricTotals::All() const {
  Series all = earlier;
  for (const auto& [name, totals] : newest) all[name].Add(totals);
  return all;
}

void MetricTotals::BeginAttempt(int number) {
  if (number != attempt) earlier = All();
  newest.clear();
  found_in.clear();
  attempt = number;
}

std::string EncodeMetricTotals(const MetricTotals& totals) {
  Value hyperparameters = Value::object();
  for (const auto& [name, text] : totals.hyperparameters) {
    Value value = Value::parse(text, nullptr, false);
    hyperparameters[name] = value.is_discarded() ? Value(text) : std::move(value);
  }
  const Value out = {{"format", 1},
                     {"attempt", totals.attempt},
                     {"found_in", totals.found_in},
                     {"left_out", totals.left_out},
                     {"warnings", totals.warnings},
                     {"hyperparameters", std::move(hyperparameters)},
                     {"newest", SeriesJson(totals.newest)},
                     {"earlier", SeriesJson(totals.earlier)}};
  return json::Dump(out) + "\n";
}

Result<MetricTotals> DecodeMetricTotals(const std::string& key, std::string_view text) {
  STOKER_ASSIGN(const Value object, json::ParseObject(key, text, kMaxBytes));
  STOKER_TRY(json::CheckFormat(key, object, 1));
  MetricTotals totals;
  totals.attempt = static_cast<int>(WholeIn(object, "attempt"));
  totals.left_out = WholeIn(object, "left_out");
  totals.newest = SeriesIn(object, "newest");
  totals.earlier = SeriesIn(object, "earlier");
  totals.found_in = TextsIn(object, "found_in");
  totals.warnings = TextsIn(object, "warnings");
  const auto found = object.find("hyperparameters");
  if (found != object.end() && found->is_object()) {
    for (const auto& [name, value] : found->items()) {
      totals.hyperparameters[name] = json::Dump(value);
    }
  }
  return totals;
}

}  // namespace stoker
