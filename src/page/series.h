// SPDX-License-Identifier: Apache-2.0
// Curves as the page draws them: no more of a series than a screen can show. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "metrics/curve.h"

namespace stoker::page {

struct SeriesRange {
  bool by_time = false;  // `from` and `to` are unix milliseconds, not steps
  int64_t from = INT64_MIN;
  int64_t to = INT64_MAX;
  size_t pixels = 1000;  // at most twice as many entries come of it, and some at the ends
};

// The entries in the range and their neighbours, joined to what `pixels` can show: extremes, counts
// and NaNs are kept. What is redone is joined with its like of the same attempt alone.
std::vector<metrics::CurveEntry> Condense(const std::vector<metrics::CurveEntry>& curve,
                                          const SeriesRange& range);

// {"name", "step": […], "time", "last", "min", "max", "mean", "count", "attempt", "redone",
// "nans"}: columns of one entry each; what is not finite is text.
nlohmann::json SeriesJson(std::string_view name, const std::vector<metrics::CurveEntry>& curve);

// The course of a node's use of its machine (jobs/<job>/usage/) as columns: {"attempt", "node",
// "at_ms", "cpu_cores", "resident_bytes", "work_bytes", "received_per_s", "sent_per_s" (null where
// nothing is said), "gpus": [{"busy_percent", …}]}. `text` is untrusted; null when it is
// no course.
nlohmann::json UsageColumns(std::string_view text, int attempt, int rank);

}  // namespace stoker::page
