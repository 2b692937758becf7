// SPDX-License-Identifier: Apache-2.0
#include "view/best_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/letter_case.h"
#include "base/text.h"
#include "base/utf8.h"
#include "view/metrics.h"

namespace stoker {
namespace {

constexpr size_t kShownGroups = 6;

template <size_t N>
bool HasOne(const std::string& name, const std::array<std::string_view, N>& words) {
  const std::string low = LowerCase(name);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return low.find(word) != std::string::npos; });
}

bool IsHeldOut(const std::string& name) {
  static constexpr std::array<std::string_view, 4> kWords = {"val", "eval", "test", "dev"};
  return HasOne(name, kWords);
}

bool IsLoss(const std::string& name) {
  static constexpr std::array<std::string_view, 4> kWords = {"loss", "perplexity", "ppl", "error"};
  return HasOne(name, kWords);
}

// What is compared of one run: a value and where it stands.
struct Mark {
  double value = 0;
  int64_t step = 0;
};
std::optional<Mark> MarkOf(const RunOutcome& run, const std::string& metric, bool greatest) {
  const auto found = run.metrics.find(metric);
  if (found == run.metrics.end()) return std::nullopt;
  const metrics::Totals& of = found->second;
  const Mark mark = greatest ? Mark{of.max, of.max_step} : Mark{of.min, of.min_step};
  return std::isfinite(mark.value) ? std::optional(mark) : std::nullopt;
}

// The metric that says most, where nobody has named one.
std::string Telling(const std::vector<RunOutcome>& runs) {
  std::map<std::string, size_t> having;
  for (const RunOutcome& run : runs) {
    for (const auto& [name, of] : run.metrics) {
      if (!IsOfTheRuntime(name)) ++having[name];
    }
  }
  std::string best;
  std::tuple<size_t, int, int, size_t> most{};
  for (const auto& [name, count] : having) {
    const bool telling = IsLoss(name) || GreaterIsBetter(name);
    const std::tuple<size_t, int, int, size_t> worth{count, telling ? 1 : 0,
                                                     IsHeldOut(name) ? 1 : 0,
                                                     1000 - std::min<size_t>(name.size(), 1000)};
    if (best.empty() || worth > most) {
      best = name;
      most = worth;
    }
  }
  return best;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// What each value of a setting came to; runs without the metric are the worst of all.
BestRun::Setting SettingOf(const std::vector<RunOutcome>& runs,
                           const std::vector<std::optional<Mark>>& marks, const std::string& name,
                           const BestRun& best) {
  const double worst = best.greatest ? -HUGE_VAL : HUGE_VAL;
  std::map<std::string, std::vector<double>> values;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto found = runs[i].settings.find(name);
    const std::string value = found == runs[i].settings.end() ? "" : found->second;
    values[value].push_back(marks[i] ? marks[i]->value : worst);
  }
  BestRun::Setting setting;
  setting.name = name;
  const auto own = runs[best.index].settings.find(name);
  if (own != runs[best.index].settings.end()) setting.value = own->second;
  for (const auto& [value, of] : values) {
    setting.groups.push_back({value, Median(of), of.size()});
  }
  std::stable_sort(setting.groups.begin(), setting.groups.end(),
                   [&](const BestRun::Group& a, const BestRun::Group& b) {
                     return best.greatest ? a.median > b.median : a.median < b.median;
                   });
  return setting;
}

// How far apart the groups are: the greater, the more the setting matters.
double Spread(const BestRun::Setting& setting) {
  const double first = setting.groups.front().median;
  const double last = setting.groups.back().median;
  return first == last ? 0 : std::abs(first - last);
}

}  // namespace

bool GreaterIsBetter(const std::string& metric) {
  static constexpr std::array<std::string_view, 16> kWords = {
      "acc",    "auc", "f1",   "precision", "recall", "score", "bleu", "rouge",
      "meteor", "iou", "dice", "reward",    "return", "psnr",  "ssim", "map@"};
  return !IsLoss(metric) && HasOne(metric, kWords);
}

std::optional<BestRun> FindBest(const std::vector<RunOutcome>& runs, const std::string& by) {
  BestRun best;
  best.metric = by.empty() ? Telling(runs) : by;
  best.greatest = GreaterIsBetter(best.metric);
  const auto has = [&](const std::string& name) {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const RunOutcome& run) { return run.metrics.contains(name); });
  };
  for (const std::string_view kind : {"min.", "max."}) {
    if (has(best.metric) || !StartsWith(best.metric, kind)) continue;
    best.metric = best.metric.substr(kind.size());
    best.greatest = kind == "max.";
  }
  std::vector<std::optional<Mark>> marks;
  std::vector<size_t> order;
  for (size_t i = 0; i < runs.size(); ++i) {
    marks.push_back(MarkOf(runs[i], best.metric, best.greatest));
    if (marks[i]) order.push_back(i);
  }
  if (order.size() < 2) return std::nullopt;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return best.greatest ? marks[a]->value > marks[b]->value : marks[a]->value < marks[b]->value;
  });
  best.index = order[0];
  best.value = marks[order[0]]->value;
  best.step = marks[order[0]]->step;
  best.next = order[1];
  best.next_value = marks[order[1]]->value;
  best.without = runs.size() - order.size();
  std::set<std::string> names;
  for (const RunOutcome& run : runs) {
    for (const auto& [name, value] : run.settings) names.insert(name);
  }
  for (const std::string& name : names) {
    BestRun::Setting setting = SettingOf(runs, marks, name, best);
    if (setting.groups.size() > 1) best.settings.push_back(std::move(setting));
  }
  std::stable_sort(best.settings.begin(), best.settings.end(),
                   [](const auto& a, const auto& b) { return Spread(a) > Spread(b); });
  return best;
}

std::string BestText(const BestRun& best, const std::vector<RunOutcome>& runs) {
  std::string text = "best: " + runs[best.index].id + ", " +
                     (best.greatest ? "greatest " : "least ") + Spelled(best.metric) + " " +
                     ShortNumber(best.value) + " at step " + std::to_string(best.step);
  if (best.next) text += "; then " + runs[*best.next].id + " with " + ShortNumber(best.next_value);
  if (best.without > 0) text += "; " + std::to_string(best.without) + " have none";
  text += "\n";
  for (const BestRun::Setting& setting : best.settings) {
    text += "  " + Spelled(setting.name) + "=" + Printable(setting.value) + ": in the middle ";
    std::vector<std::string> parts;
    for (const BestRun::Group& group : setting.groups) {
      if (parts.size() == kShownGroups) break;
      parts.push_back((std::isfinite(group.median) ? ShortNumber(group.median) : "none") +
                      " with " + (group.value.empty() ? "none" : Printable(group.value)) + " (" +
                      std::to_string(group.runs) + ")");
    }
    if (setting.groups.size() > parts.size()) {
      parts.push_back(std::to_string(setting.groups.size() - parts.size()) + " more");
    }
    text += Join(parts, ", ") + "\n";
  }
  return text;
}

}  // namespace stoker
