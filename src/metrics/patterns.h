// SPDX-License-Identifier: Apache-2.0
// Metrics that the job file describes as patterns of log lines: `metrics: [{name, regex}]`, as
// SageMaker's MetricDefinitions (API reference, MetricDefinition: Name, Regex). The regular
// expressions are RE2's: linear in the line, whatever it holds. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stoker::metrics {

class Pattern {
 public:
  // kInvalid says what is wrong with the expression, and what to do.
  static Result<Pattern> Make(const std::string& name, const std::string& regex);
  const std::string& name() const { return name_; }
  // The number in the first group, at the first place that matches. Thread-safe.
  std::optional<double> Find(std::string_view line) const;

 private:
  struct Compiled;
  std::string name_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace stoker::metrics
