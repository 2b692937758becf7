// SPDX-License-Identifier: Apache-2.0
#include "metrics/line_names.h"

#include <algorithm>
#include <utility>

#include "base/letter_case.h"
#include "metrics/log_words.h"

namespace stoker::metrics {
namespace {

constexpr size_t kMostNames = 2000;

bool IsHeld(std::string_view phase) { return (FlagsOf(phase) & kHeldWord) != 0; }

// Whether its name stands more than once in the line.
bool IsTwice(const LineRow& row, size_t index) {
  for (size_t i = 0; i < row.values.size(); ++i) {
    if (i != index && row.values[i].name == row.values[index].name) return true;
  }
  return false;
}

// The word that says of what data a value is, where it has none in its own name: that of the line,
// unless the line is about several; of a name that stands there twice, the last one before it.
std::string_view PhaseOf(const LineRow& row, size_t index) {
  if (!row.values[index].phase.empty()) return "";
  bool several = false;
  std::string_view before = row.phase;
  for (size_t i = 0; i < row.values.size(); ++i) {
    const std::string_view own = row.values[i].phase;
    if (own.empty()) continue;
    several |= own != row.phase;
    if (i < index) before = own;
  }
  if (!several) return row.phase;
  return IsTwice(row, index) ? before : "";
}

// Whether the line has two numbers of one name, and does not say of what data each is.
bool IsUnclear(const LineRow& row, size_t index) {
  if (!IsTwice(row, index)) return false;
  for (size_t i = 0; i < row.values.size(); ++i) {
    const bool same = i != index && row.values[i].name == row.values[index].name;
    if (same && PhaseOf(row, i) == PhaseOf(row, index)) return true;
  }
  return false;
}

}  // namespace

void LineNames::BeginEpoch(int64_t epoch) {
  epoch_ = epoch;
  headed_ = true;
  CountFrom(epoch);
}

// A program that has an epoch 0 counts from there, whichever it named first.
void LineNames::CountFrom(int64_t epoch) {
  const int64_t first = std::min<int64_t>(epoch, 1);
  series_.first_epoch = series_.first_epoch < 0 ? first : std::min(series_.first_epoch, first);
}

// nullopt: nobody can say where these are, or that they are any.
std::optional<LineNames::At> LineNames::Where(const LineRow& row) {
  if (row.epoch) CountFrom(*row.epoch);
  auto epoch = row.epoch;
  if (!epoch && !row.step && headed_) epoch = epoch_;
  if (row.step) return At{'s', row.step, row.epoch.value_or(-1)};
  if (row.place && !epoch && (!row.named || epoch_ || series_.first_epoch >= 0)) {
    // It begins again in each epoch, and nobody says in which this is.
    const bool counts = epoch_ || series_.first_epoch >= 0 || row.bar || row.place->whole == 1;
    return At{counts ? 'o' : 'p', std::nullopt, -1};
  }
  if (row.place) {
    int64_t step = row.place->part;
    constexpr int64_t kMost = int64_t{1} << 24;  // epochs of so many batches: no number overflows
    if (epoch && *epoch < kMost && row.place->whole < (int64_t{1} << 38)) {
      step += std::max<int64_t>(0, *epoch - std::max<int64_t>(0, series_.first_epoch)) *
              row.place->whole;
    }
    return At{'s', step, epoch.value_or(-1)};
  }
  if (row.batch && epoch_) return At{'o', std::nullopt, -1};
  if (row.epoch) return At{'e', row.epoch, -1};
  if (!row.plain) return std::nullopt;
  return epoch_ ? At{'e', epoch_, -1} : At{'o', std::nullopt, -1};
}

// Where nobody counts epochs, a place that is far behind the one before is of another round; one
// that is little behind may be another process's. What an attempt begins with is of the newest
// round of the attempt before.
LineNames::At LineNames::InRound(std::string_view name, const Place& place) {
  constexpr int64_t kMost = int64_t{1} << 38;
  auto last = places_.find(name);
  if (last == places_.end()) {
    if (places_.size() >= kMostNames) return At{};
    last = places_.emplace(name, Count{place, place.part}).first;
  }
  Count& count = last->second;
  // Of other data, which have no name of their own.
  if (count.last.whole != place.whole || place.whole >= kMost) return At{};
  auto round = series_.rounds.find(name);
  const int64_t was = std::exchange(count.last, place).part;
  const bool far = (was - place.part) * 2 >= place.whole;
  if (far || (was * 2 > place.whole && was > place.part && place.part <= count.first)) {
    count.first = place.part;
    if (round == series_.rounds.end()) round = series_.rounds.emplace(name, 0).first;
    ++round->second;
  }
  const int64_t before = round == series_.rounds.end() ? 0 : round->second;
  if (before >= int64_t{1} << 24) return At{};
  return At{'s', before * place.whole + place.part, -1};
}

// Two kinds of data, and two ways of counting, are never one series.
std::string_view LineNames::Apart(std::string_view name, std::string_view phase, char axis,
                                  bool counted, std::string* held) {
  const std::string of = LowerCase(phase);
  auto known = series_.names.find(name);
  const bool others =
      known != series_.names.end() && std::string_view(known->second).substr(1) != of;
  if ((others || counted) && IsHeld(phase)) {
    *held = of + "/" + std::string(name);
    name = *held;
    known = series_.names.find(name);
  } else if (others && !phase.empty() && IsHeld(std::string_view(known->second).substr(1))) {
    *held = of + "/" + std::string(name);
    name = *held;
    known = series_.names.find(name);
  }
  if (known == series_.names.end()) {
    if (series_.names.size() < kMostNames) series_.names.emplace(name, std::string(1, axis) + of);
    return name;
  }
  if (known->second[0] == axis) return name;
  *held = std::string(name) + (axis == 's' ? " by step" : axis == 'e' ? " by epoch" : " by order");
  return *held;
}

int64_t LineNames::Give(const LineRow& row, WallTime time, PointSink& sink) {
  const bool header =
      row.epoch && row.values.empty() && row.plain && row.heading && !row.place && !row.step;
  if (header) BeginEpoch(*row.epoch);
  if (row.values.empty()) return 0;
  if (row.epoch) {
    headed_ &= epoch_ == row.epoch;
    epoch_ = row.epoch;
  }
  const auto at = Where(row);
  if (!at) return 0;
  std::string before;
  if (row.fold) before = "fold_" + std::to_string(*row.fold) + "/";
  if (row.rank > 0) before += "rank_" + std::to_string(row.rank) + "/";
  int64_t given = 0;
  for (size_t i = 0; i < row.values.size(); ++i) {
    const NamedValue& value = row.values[i];
    if (!row.counts() && !value.result) continue;
    const std::string_view phase = PhaseOf(row, i);
    if (IsUnclear(row, i)) continue;
    std::string held;
    std::string_view name = value.name;
    std::string whole;
    if (!before.empty()) {
      whole = before + std::string(name);
      name = whole;
    }
    const std::string of_data = LowerCase(phase) + "/" + std::string(name);
    const At here = at->axis == 'p' ? InRound(of_data, *row.place) : *at;
    name = Apart(name, phase, here.axis, row.counts(), &held);
    sink.OnPoint(name, {here.step, value.value, time, here.axis == 'e', here.epoch, row.bar});
    ++given;
  }
  return given;
}

}  // namespace stoker::metrics
