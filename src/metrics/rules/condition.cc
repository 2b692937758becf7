// SPDX-License-Identifier: Apache-2.0
#include "metrics/rules/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stoker::metrics {
namespace {

constexpr size_t kMostValues = 2000;

std::string Short(double value) { return fmt::format("{:.6g}", value); }

// Of those that are finite; nullopt where there is none.
std::optional<double> MeanOf(const double* from, const double* to) {
  double sum = 0;
  int64_t count = 0;
  for (; from != to; ++from) {
    if (!std::isfinite(*from)) continue;
    sum += *from;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

}  // namespace

int64_t Condition::Passed(int64_t step, int64_t points, int64_t trained) const {
  switch (rule_.span.unit) {
    case Span::Unit::kSteps:
      return step;
    case Span::Unit::kPoints:
      return points;
    case Span::Unit::kTime:
      return trained;
  }
  return 0;
}

std::optional<std::string> Condition::Take(const Entry& entry, int64_t trained,
                                           const std::optional<OtherRuns::Median>& median) {
  if (!begun_) first_step_ = entry.first_step;
  points_ += entry.count;
  Said said;
  switch (rule_.kind) {
    case Rule::Kind::kNotFinite:
      said = NotFinite(entry);
      break;
    case Rule::Kind::kLimit:
      said = Limit(entry);
      break;
    case Rule::Kind::kMedian:
      said = Worse(entry, median);
      break;
    case Rule::Kind::kStale:
      said = Stale(entry, trained);
      break;
    case Rule::Kind::kFirst:
      said = First(entry, trained);
      break;
    case Rule::Kind::kGrows:
      said = Grows(entry);
      break;
    case Rule::Kind::kVanish:
      said = Vanish(entry);
      break;
    case Rule::Kind::kExplode:
      said = Explode(entry);
      break;
  }
  begun_ = true;
  return said;
}

Condition::Said Condition::NotFinite(const Entry& entry) const {
  if (entry.finite == entry.count) return std::nullopt;
  return fmt::format("{} at step {}", Short(entry.last), entry.last_step);
}

Condition::Said Condition::Limit(const Entry& entry) const {
  if (rule_.after && entry.last_step <= *rule_.after) return std::nullopt;
  const bool beyond = rule_.up ? entry.last > rule_.value : entry.last < rule_.value;
  if (!beyond) return std::nullopt;
  return fmt::format("{} at step {}", Short(entry.last), entry.last_step);
}

// The best so far against the means of the others: who is only unlucky now goes on.
Condition::Said Condition::Worse(const Entry& entry,
                                 const std::optional<OtherRuns::Median>& median) {
  const double value = rule_.up ? entry.min : entry.max;
  if (std::isfinite(value) && (!best_ || (rule_.up ? value < *best_ : value > *best_))) {
    best_ = value;
    best_step_ = rule_.up ? entry.min_step : entry.max_step;
  }
  const bool early = rule_.after ? entry.last_step <= *rule_.after : points_ < kLeastOwn;
  if (!median || early) return std::nullopt;
  const bool better = best_ && (rule_.up ? *best_ <= median->value : *best_ >= median->value);
  if (better) return std::nullopt;
  return fmt::format("{} at best by step {}, the median of {} runs is {}",
                     best_ ? Short(*best_) : Short(entry.last), entry.last_step, median->runs,
                     Short(median->value));
}

Condition::Said Condition::Stale(const Entry& entry, int64_t trained) {
  const double value = rule_.up ? entry.max : entry.min;
  const bool better =
      std::isfinite(value) &&
      (!best_ || (rule_.up ? value > *best_ + rule_.value : value < *best_ - rule_.value));
  if (better) best_ = value;
  if (better || !begun_) {
    best_step_ = rule_.up ? entry.max_step : entry.min_step;
    if (!better) best_step_ = entry.first_step;
    best_points_ = points_;
    best_trained_ = trained;
    return std::nullopt;
  }
  const int64_t passed =
      Passed(entry.last_step - best_step_, points_ - best_points_, trained - best_trained_);
  if (passed < rule_.span.count) return std::nullopt;
  if (!best_) return fmt::format("{} at step {}, and never finite", entry.last, entry.last_step);
  return fmt::format("{} at step {}, {} at step {}", Short(*best_), best_step_, Short(entry.last),
                     entry.last_step);
}

// Bounded: where there are many, two that follow one another become one.
void Condition::Keep(double value) {
  if (values_.empty() || in_last_ == joined_) {
    if (values_.size() == kMostValues) {
      for (size_t i = 0; i < kMostValues / 2; ++i) {
        values_[i] = (values_[2 * i] + values_[2 * i + 1]) / 2;
      }
      values_.resize(kMostValues / 2);
      joined_ *= 2;
    }
    values_.push_back(value);
    in_last_ = 1;
    return;
  }
  values_.back() += (value - values_.back()) / static_cast<double>(++in_last_);
}

// The first tenth of the span against the last: one lucky point proves nothing.
Condition::Said Condition::First(const Entry& entry, int64_t trained) {
  if (decided_) return std::nullopt;
  Keep(entry.count == 1 || entry.finite < entry.count ? entry.last : entry.mean);
  if (Passed(entry.last_step - first_step_, points_, trained) < rule_.span.count) {
    return std::nullopt;
  }
  decided_ = true;
  const size_t part = std::max<size_t>(1, values_.size() / 10);
  if (values_.size() < 2) return std::nullopt;
  const double* end = values_.data() + values_.size();
  const auto before = MeanOf(values_.data(), values_.data() + part);
  const auto after = MeanOf(end - part, end);
  const bool finite = std::all_of(end - part, end, [](double v) { return std::isfinite(v); });
  if (finite && !before) return std::nullopt;
  if (finite && (rule_.up ? *after > *before + rule_.value : *after < *before - rule_.value)) {
    return std::nullopt;
  }
  return fmt::format("{} at first, {} at step {} (means of the first and the last tenth)",
                     before ? Short(*before) : "not finite", finite ? Short(*after) : "not finite",
                     entry.last_step);
}

Condition::Said Condition::Grows(const Entry& entry) {
  const bool grown = best_ && *best_ > 0 && entry.last > *best_ * rule_.value;
  Said said;
  if (grown) {
    said = fmt::format("{} at step {}, {} at step {}", Short(*best_), best_step_, Short(entry.last),
                       entry.last_step);
  }
  if (std::isfinite(entry.min) && (!best_ || entry.min < *best_)) {
    best_ = entry.min;
    best_step_ = entry.min_step;
  }
  return said;
}

Condition::Said Condition::Vanish(const Entry& entry) {
  const bool small =
      entry.finite == entry.count && std::max(std::abs(entry.min), std::abs(entry.max)) < kVanished;
  row_ = small ? row_ + entry.count : 0;
  if (row_ < kVanishedFor) return std::nullopt;
  return fmt::format("{} at step {}, the {}th in a row below {}", Short(entry.last),
                     entry.last_step, row_, kVanished);
}

Condition::Said Condition::Explode(const Entry& entry) {
  const double size = std::abs(entry.last);
  std::optional<double> median;
  if (usual_.size() >= kLeastUsual) {
    std::vector<double> sorted(usual_.begin(), usual_.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    median = *middle;
  }
  const bool large = !std::isfinite(size) || (median && size > *median * kExploded && size > 0);
  row_ = large ? row_ + entry.count : 0;
  if (!large) {
    usual_.push_back(size);
    if (usual_.size() > kUsual) usual_.pop_front();
  }
  if (row_ < kExplodedFor) return std::nullopt;
  return fmt::format("{} at step {}, usual are {}", Short(entry.last), entry.last_step,
                     median ? Short(*median) : "none yet");
}

}  // namespace stoker::metrics
