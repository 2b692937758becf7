// SPDX-License-Identifier: Apache-2.0
// What is said of a job's metrics as a whole, in one small object: jobs/<job>/metrics.json. Rank 0
// writes it over; `show` and the index read it (ReadMetricTotals in ledger/index.h). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "metrics/entries.h"

namespace stoker {

struct MetricTotals {
  using Series = std::map<std::string, metrics::Totals>;
  int attempt = 0;  // the newest that has any
  Series newest;    // of that attempt
  Series earlier;   // of all before it together: what was trained twice is in it twice
  std::vector<std::string> found_in;                   // "runs/x (TensorBoard)", of the newest
  std::map<std::string, std::string> hyperparameters;  // name -> JSON; of event files
  std::vector<std::string> warnings;                   // of rules that only warn, in their order
  int64_t left_out = 0;                                // series beyond the most that are kept

  // Of all attempts: last of the newest that has the series, extremes of all.
  Series All() const;
  // Makes `number` the newest attempt; another try of the same one begins anew.
  void BeginAttempt(int number);
};

std::string EncodeMetricTotals(const MetricTotals& totals);
// kCorrupt, kTooNew.
Result<MetricTotals> DecodeMetricTotals(const std::string& key, std::string_view text);
// A number as text that says all of it: "0.1", "nan", "-inf"; and back.
std::string NumberText(double value);

}  // namespace stoker
