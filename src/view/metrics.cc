// SPDX-License-Identifier: Apache-2.0
#include "view/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"

namespace stoker {

metrics::Totals TotalsOf(const std::vector<metrics::CurveEntry>& curve) {
  metrics::Totals totals;
  for (const metrics::CurveEntry& at : curve) {
    if (!at.redone) totals.Add(at.entry);
  }
  return totals;
}

bool IsOfTheRuntime(std::string_view metric) {
  const std::string_view last = metric.substr(metric.rfind('/') + 1);
  return EndsWith(last, "_per_second") || EndsWith(last, "_runtime") || last == "total_flos" ||
         last == "v_num" || last == "hp_metric";
}

std::string ShortNumber(double value) { return fmt::format("{:.6g}", value); }

std::string SparkLine(const std::vector<metrics::CurveEntry>& curve, size_t columns) {
  static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<const metrics::Entry*> kept;
  double low = HUGE_VAL;
  double high = -HUGE_VAL;
  for (const metrics::CurveEntry& at : curve) {
    if (at.redone) continue;
    kept.push_back(&at.entry);
    if (at.entry.finite == 0) continue;
    low = std::min(low, at.entry.mean);
    high = std::max(high, at.entry.mean);
  }
  const size_t width = std::min(columns, kept.size());
  std::string out;
  for (size_t column = 0; column < width; ++column) {
    const size_t from = column * kept.size() / width;
    const size_t to = (column + 1) * kept.size() / width;
    double sum = 0;
    int64_t finite = 0;
    bool bad = false;
    for (size_t i = from; i < to; ++i) {
      bad |= kept[i]->finite < kept[i]->count;
      if (kept[i]->finite == 0) continue;
      sum += kept[i]->mean / static_cast<double>(to - from);
      ++finite;
    }
    if (bad || finite == 0) {
      out += "×";
      continue;
    }
    const double mean = sum * static_cast<double>(to - from) / static_cast<double>(finite);
    const double part = high > low ? (mean - low) / (high - low) : 0;
    out += kBars[std::clamp(static_cast<int>(part * 8), 0, 7)];
  }
  return out;
}

std::string TotalsText(const MetricTotals& totals, size_t most) {
  const MetricTotals::Series all = totals.All();
  std::string text;
  size_t shown = 0;
  for (const auto& [name, of] : all) {
    if (shown++ == most) break;
    text += (text.empty() ? "" : ", ") + Spelled(name) + " " + ShortNumber(of.last);
    if (of.count > 1 && std::isfinite(of.min)) {
      text += fmt::format(" ({} to {})", ShortNumber(of.min), ShortNumber(of.max));
    }
  }
  if (all.size() > most) text += ", and " + std::to_string(all.size() - most) + " more";
  return text;
}

nlohmann::json NumberJson(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(NumberText(value));
}

nlohmann::json TotalsJson(const MetricTotals& totals) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, of] : totals.All()) {
    out[name] = {
        {"count", of.count},           {"nans", of.nans},           {"infinite", of.infinite},
        {"last", NumberJson(of.last)}, {"last_step", of.last_step}, {"min", NumberJson(of.min)},
        {"min_step", of.min_step},     {"max", NumberJson(of.max)}, {"max_step", of.max_step}};
  }
  return out;
}

}  // namespace stoker
