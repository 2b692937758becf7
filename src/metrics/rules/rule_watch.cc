// SPDX-License-Identifier: Apache-2.0
#include "metrics/rules/rule_watch.h"

#include <algorithm>
#include <utility>

#include "base/deliberate_bug.h"
#include "base/letter_case.h"
#include "base/text.h"

namespace stoker::metrics {

RuleWatch::RuleWatch(std::vector<Rule> rules)
    : rules_(std::move(rules)), said_(rules_.size()), met_(rules_.size()) {}

bool RuleWatch::Wants(const std::string& series) const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [&](const Rule& rule) { return rule.IsAbout(series); });
}

bool RuleWatch::WantsOthers() const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [](const Rule& rule) { return rule.kind == Rule::Kind::kMedian; });
}

bool RuleWatch::WantsOthers(const std::string& series) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return rule.kind == Rule::Kind::kMedian && rule.IsAbout(series);
  });
}

RuleWatch::Series& RuleWatch::Find(const std::string& name) {
  const auto found = series_.find(name);
  if (found != series_.end()) return found->second;
  Series& series = series_[name];
  series.is_loss = LowerCase(name).find("loss") != std::string::npos;
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].IsAbout(name)) series.watched.push_back({i, Condition(rules_[i])});
  }
  return series;
}

bool RuleWatch::WantsBeginnings() const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [](const Rule& rule) { return rule.kind == Rule::Kind::kFirst; });
}

bool RuleWatch::Moment::Before(const Moment& other) const {
  if (ms > 0 && other.ms > 0 && ms != other.ms) return ms < other.ms;
  return turn < other.turn;
}

void RuleWatch::NoteBeginning(Series* series, const Entry& entry, int64_t turn) {
  if (series->under_way) return;
  if (series->points == 0) series->first = {entry.first_time.ms, turn};
  series->points += entry.count;
  if (series->is_loss && series->points >= kUnderWay)
    series->under_way = {entry.last_time.ms, turn};
}

std::string RuleWatch::BeganBehind(const Series& series) const {
  for (const auto& [name, other] : series_) {
    if (other.under_way && other.under_way->Before(series.first)) return name;
  }
  return "";
}

void RuleWatch::SetEarlier(const std::string& name, std::vector<CurveEntry> earlier) {
  Series& series = Find(name);
  for (const CurveEntry& entry : earlier) NoteBeginning(&series, entry.entry, turn_);
  if (!series.watched.empty()) series.earlier = std::move(earlier);
}

void RuleWatch::Take(const std::string& name, bool ordered, const Entry& point,
                     std::optional<int64_t> begin) {
  Series& series = Find(name);
  NoteBeginning(&series, point, ++turn_);
  if (series.watched.empty()) return;
  if (!series.begun) {
    series.begun = true;
    int attempt = 0;
    for (const CurveEntry& before : series.earlier) {
      const int64_t from = std::min(begin.value_or(point.first_step), point.first_step);
      const bool redone = before.redone || (!ordered && before.entry.first_step >= from);
      if (ordered && !redone) series.numbered += before.entry.count;
      if (redone && !BugIsOn("redone-counts")) continue;
      // What lies between two attempts is no training.
      if (std::exchange(attempt, before.attempt) != before.attempt) series.last_time = {};
      Feed(name, series, before.entry, false);
    }
    series.last_time = {};
    series.earlier = {};
  }
  Entry entry = point;
  for (int64_t* step : {&entry.first_step, &entry.last_step, &entry.min_step, &entry.max_step}) {
    *step += series.numbered;
  }
  Feed(name, series, entry, true);
}

void RuleWatch::Forget(const std::string& name) {
  series_.erase(name);
  for (size_t i = 0; i < rules_.size(); ++i) {
    met_[i] = std::any_of(series_.begin(), series_.end(), [&](const auto& one) {
      return one.second.begun && rules_[i].IsAbout(one.first);
    });
  }
}

void RuleWatch::Feed(const std::string& name, Series& series, const Entry& entry, bool judge) {
  if (entry.first_time.ms > 0 && entry.last_time >= entry.first_time) {
    if (series.last_time.ms > 0 && entry.first_time > series.last_time) {
      series.trained += (entry.first_time - series.last_time).ms;
    }
    series.trained += (entry.last_time - entry.first_time).ms;
    series.last_time = entry.last_time;
  }
  for (Watched& watched : series.watched) {
    met_[watched.rule] = true;
    const Rule& rule = rules_[watched.rule];
    std::optional<OtherRuns::Median> median;
    if (judge && rule.kind == Rule::Kind::kMedian) median = others_.At(name, entry.last_step);
    const auto said = watched.condition.Take(entry, series.trained, median);
    if (!said || !judge || said_[watched.rule]) continue;
    if (rule.kind == Rule::Kind::kFirst) {
      const std::string before = BeganBehind(series);
      if (!before.empty()) {
        notes_.push_back(RuleText(rule) + ": not judged: " + Printable(name) +
                         " begins when training is under way, by " + Printable(before));
        continue;
      }
    }
    said_[watched.rule] = true;
    // A pattern does not say which series it was.
    const std::string which = rule.metric == name ? "" : Printable(name) + ": ";
    verdicts_.push_back({watched.rule, RuleText(rule) + ": " + which + *said});
  }
}

std::vector<Verdict> RuleWatch::TakeVerdicts() { return std::exchange(verdicts_, {}); }
std::vector<std::string> RuleWatch::TakeNotes() { return std::exchange(notes_, {}); }

std::vector<size_t> RuleWatch::Idle() const {
  std::vector<size_t> idle;
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (!met_[i]) idle.push_back(i);
  }
  return idle;
}

}  // namespace stoker::metrics
