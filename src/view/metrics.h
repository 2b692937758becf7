// SPDX-License-Identifier: Apache-2.0
// What can be said of a run's metrics: for the terminal and --json. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/curve.h"
#include "metrics/metric_totals.h"

namespace stoker {

// Of the entries that are not redone.
metrics::Totals TotalsOf(const std::vector<metrics::CurveEntry>& curve);

// Whether a metric says how a run went, not what it learned: "…_per_second", "…_runtime",
// "total_flos", "v_num", "hp_metric". Folded away where people look.
bool IsOfTheRuntime(std::string_view metric);

// "0.1234", "1.5e-05", "nan": at most six digits.
std::string ShortNumber(double value);

// The course of what is not redone in at most `columns` characters, "▁▂▅█"; "×" where a value is
// not finite. Its range is that of the finite values.
std::string SparkLine(const std::vector<metrics::CurveEntry>& curve, size_t columns);

// "loss 0.12 (least 0.1 at step 280), …": the first `most` of them, and how many more.
std::string TotalsText(const MetricTotals& totals, size_t most);
nlohmann::json TotalsJson(const MetricTotals& totals);

// JSON has no NaN: what is not finite is text.
nlohmann::json NumberJson(double value);

}  // namespace stoker
