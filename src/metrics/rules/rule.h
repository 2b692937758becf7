// SPDX-License-Identifier: Apache-2.0
// A rule that ends a run, as the job file has it: one short sentence. docs/metrics.md has the
// grammar. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stoker::metrics {

// How long something lasts, on the axis of one series.
struct Span {
  enum class Unit { kSteps, kPoints, kTime };
  Unit unit = Unit::kSteps;
  int64_t count = 0;  // > 0; milliseconds of training where it is a time
  bool operator==(const Span&) const = default;
};

struct Rule {
  enum class Kind {
    kNotFinite,  // METRIC is not finite
    kLimit,      // METRIC is above|below VALUE [after step AFTER]
    kMedian,     // METRIC is above|below the median of runs of this name [after step AFTER]
    kStale,      // METRIC does not fall|rise [by more than VALUE] for SPAN
    kFirst,      // METRIC does not fall|rise [by more than VALUE] in the first SPAN
    kGrows,      // METRIC grows VALUE times over its minimum
    kVanish,     // METRIC vanishes; gradients vanish
    kExplode,    // METRIC explodes; gradients explode
  };
  Kind kind = Kind::kNotFinite;
  // A name; * and ? match as in a shell, slashes too. "" = what is called as gradients' norms are.
  std::string metric;
  bool up = false;  // above; rise
  double value = 0;
  Span span;
  std::optional<int64_t> after;
  bool operator==(const Rule&) const = default;

  // Whether it is about the series of this name.
  bool IsAbout(std::string_view series) const;
};

inline constexpr size_t kMaxRuleText = 500;  // bytes

struct ParsedRule {
  std::optional<Rule> rule;
  // Where there is none: the column of what is wrong, from 1 and in characters, what it is, and
  // what would be right.
  size_t column = 1;
  std::string message;
  std::string hint;
};
// Any bytes.
ParsedRule ParseRule(std::string_view text);

// The one way to write it: ParseRule gives the same rule for it.
std::string RuleText(const Rule& rule);

}  // namespace stoker::metrics
