// SPDX-License-Identifier: Apache-2.0
#include "metrics/rules/other_runs.h"

#include <algorithm>

namespace stoker::metrics {

void OtherRuns::Add(const std::string& series, const std::vector<CurveEntry>& curve) {
  Means means;
  double sum = 0;
  int64_t count = 0;
  int64_t step = 0;
  for (const CurveEntry& at : curve) {
    if (at.redone) continue;
    if (at.entry.finite > 0) {
      sum += at.entry.mean * static_cast<double>(at.entry.finite);
      count += at.entry.finite;
    }
    // Steps that go back stay where they were: what is looked for is sorted.
    step = means.empty() ? at.entry.last_step : std::max(step, at.entry.last_step);
    if (count > 0) means.emplace_back(step, sum / static_cast<double>(count));
  }
  if (!means.empty()) series_[series].push_back(std::move(means));
}

std::optional<OtherRuns::Median> OtherRuns::At(const std::string& series, int64_t step) const {
  const auto found = series_.find(series);
  if (found == series_.end()) return std::nullopt;
  std::vector<double> values;
  for (const Means& means : found->second) {
    if (means.back().first < step) continue;  // it did not come so far
    const auto behind =
        std::upper_bound(means.begin(), means.end(), step,
                         [](int64_t value, const auto& mean) { return value < mean.first; });
    if (behind != means.begin()) values.push_back(std::prev(behind)->second);
  }
  if (values.size() < kLeastOthers) return std::nullopt;
  const size_t half = values.size() / 2;
  std::sort(values.begin(), values.end());
  const double middle =
      values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return Median{middle, values.size()};
}

}  // namespace stoker::metrics
