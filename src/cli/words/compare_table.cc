// SPDX-License-Identifier: Apache-2.0
#include "cli/words/compare_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "base/letter_case.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/terminal/table.h"
#include "cli/words/stubs.h"
#include "view/metrics.h"

namespace stoker::cli {
namespace {

using Texts = std::vector<std::string>;

constexpr size_t kMostOfThem = 12;  // packages; variables
constexpr size_t kBetween = 2;
constexpr size_t kNameRoom = 40;  // columns of what a row is called
constexpr size_t kHeadRoom = 24;
constexpr size_t kCellRoom = 28;

// Something that jobs have, with a text for each of them; "" where one has it not.
struct Trait {
  std::string section;
  std::string name;
  Texts texts;
  bool OneText() const { return std::set<std::string>(texts.begin(), texts.end()).size() < 2; }
};

void AddSections(const std::string& title, const std::vector<const Compared::Section*>& sections,
                 std::vector<Trait>* traits) {
  std::set<std::string> names;
  for (const Compared::Section* section : sections) {
    for (const auto& [name, text] : *section) names.insert(name);
  }
  for (const std::string& name : names) {
    Trait trait{title, Spelled(name), {}};
    for (const Compared::Section* section : sections) {
      const auto found = section->find(name);
      trait.texts.push_back(found == section->end() ? "" : Printable(found->second));
    }
    traits->push_back(std::move(trait));
  }
}

void AddSection(const std::vector<Compared>& jobs, const std::string& title,
                const Compared::Section Compared::*member, std::vector<Trait>* traits) {
  std::vector<const Compared::Section*> sections;
  for (const Compared& job : jobs) sections.push_back(&(job.*member));
  AddSections(title, sections, traits);
}

// What they ran with, where it is known of all of them: else it would seem that each package of one
// is missing in the other. Returns what is to be said of it.
std::string AddRanWith(const std::vector<Compared>& jobs, bool all, std::vector<Trait>* traits) {
  using With = Compared::RanWith;
  Texts unknown;
  for (const Compared& job : jobs) {
    if (!job.ran) unknown.push_back(job.id);
  }
  if (unknown.size() == jobs.size()) return "";
  if (!unknown.empty()) {
    return "Not compared: Python, packages and driver; what " + Join(unknown, " and ") +
           " ran with is not known.\n";
  }
  std::string left_out;
  for (const auto& [title, member] : {std::pair{"RAN WITH", &With::machine},
                                      {"PACKAGES", &With::packages},
                                      {"VARIABLES", &With::variables}}) {
    std::vector<const Compared::Section*> sections;
    for (const Compared& job : jobs) sections.push_back(&((*job.ran).*member));
    std::vector<Trait> more;
    AddSections(title, sections, &more);
    if (!all) std::erase_if(more, [](const Trait& trait) { return trait.OneText(); });
    if (!all && more.size() > kMostOfThem && member != &With::machine) {
      left_out += (left_out.empty() ? "Left out: " : ", ") +
                  std::to_string(more.size() - kMostOfThem) + " more " + LowerCase(title);
      more.resize(kMostOfThem);
    }
    traits->insert(traits->end(), more.begin(), more.end());
  }
  return left_out.empty() ? "" : left_out + " that differ; --all shows them.\n";
}

std::string MetricText(const metrics::Totals& of, bool side_by_side) {
  if (!side_by_side || of.count < 2) return ShortNumber(of.last);
  return ShortNumber(of.last) + " (" + ShortNumber(of.min) + " to " + ShortNumber(of.max) + ")";
}

// Those of the runtime come last; or not at all, and are counted.
size_t AddMetrics(const std::vector<Compared>& jobs, bool all, std::vector<Trait>* traits) {
  const bool side_by_side = jobs.size() <= kSideBySide;
  std::set<std::pair<bool, std::string>> names;
  size_t left_out = 0;
  for (const Compared& job : jobs) {
    for (const auto& [name, of] : job.metrics) names.insert({IsOfTheRuntime(name), name});
  }
  for (const auto& [runtime, name] : names) {
    if (runtime && !all) {
      ++left_out;
      continue;
    }
    Trait trait{side_by_side ? "METRICS (last, least to greatest)" : "METRICS", Spelled(name), {}};
    for (const Compared& job : jobs) {
      const auto found = job.metrics.find(name);
      const bool has = found != job.metrics.end();
      trait.texts.push_back(has ? MetricText(found->second, side_by_side) : "");
    }
    traits->push_back(std::move(trait));
  }
  return left_out;
}

double BestOf(const Compared& job, const BestRun& best) {
  const auto found = job.metrics.find(best.metric);
  if (found == job.metrics.end()) return NAN;
  return best.greatest ? found->second.max : found->second.min;
}

Trait BestTrait(const std::vector<Compared>& jobs, const BestRun& best) {
  Trait trait{"METRICS", (best.greatest ? "greatest " : "least ") + Spelled(best.metric), {}};
  for (const Compared& job : jobs) {
    const double value = BestOf(job, best);
    trait.texts.push_back(job.metrics.contains(best.metric) ? ShortNumber(value) : "");
  }
  return trait;
}

Trait NameTrait(const std::vector<Compared>& jobs) {
  Trait trait{"JOB", "name", {}};
  for (const Compared& job : jobs) trait.texts.push_back(Printable(job.name));
  return trait;
}

void PutRow(const Texts& cells, const std::vector<size_t>& widths, std::string* out) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line += cells[i] + std::string(widths[i] - DisplayWidth(cells[i]) + kBetween, ' ');
  }
  *out += line.erase(line.find_last_not_of(' ') + 1) + "\n";
}

std::string SideBySide(const std::vector<Compared>& jobs, const std::vector<Trait>& traits,
                       size_t width) {
  Texts names;
  for (const Trait& trait : traits) names.push_back(trait.name);
  names = Stubs(names, std::min(kNameRoom, width / 3));
  size_t widest = 0;
  for (const std::string& name : names) widest = std::max(widest, DisplayWidth(name) + kBetween);
  const size_t room = (width - widest) / jobs.size() - kBetween;
  std::vector<Texts> rows = {{""}};
  for (const Compared& job : jobs) rows[0].push_back(job.id);
  std::string section;
  for (size_t i = 0; i < traits.size(); ++i) {
    if (traits[i].section != section) rows.push_back({section = traits[i].section});
    rows.push_back({"  " + names[i]});
    for (std::string& text : Stubs(traits[i].texts, room)) rows.back().push_back(std::move(text));
  }
  std::vector<size_t> widths(jobs.size() + 1, 0);
  for (const Texts& row : rows) {
    for (size_t i = 0; i < row.size() && row.size() > 1; ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  std::string out;
  for (const Texts& row : rows) {
    if (row.size() == 1) {
      out += row[0] + "\n";
    } else {
      PutRow(row, widths, &out);
    }
  }
  return out;
}

// The best first; those of which nothing is known last, in the order given.
std::vector<size_t> OrderOf(const std::vector<Compared>& jobs, const std::optional<BestRun>& best) {
  std::vector<size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  if (!best) return order;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const double first = BestOf(jobs[a], *best), second = BestOf(jobs[b], *best);
    if (!std::isfinite(first) || !std::isfinite(second)) {
      return std::isfinite(first) && !std::isfinite(second);
    }
    return best->greatest ? first > second : first < second;
  });
  return order;
}

// A column of each trait, its head first; heads are all different.
std::vector<Texts> ColumnsOf(const std::vector<Trait>& traits, const std::vector<size_t>& order) {
  Texts heads;
  std::set<std::string> known;
  for (const Trait& trait : traits) {
    const bool fresh = known.insert(trait.name).second;
    heads.push_back(fresh ? trait.name : LowerCase(trait.section) + " " + trait.name);
  }
  heads = Stubs(heads, kHeadRoom);
  std::vector<Texts> columns;
  for (size_t i = 0; i < traits.size(); ++i) {
    const Texts cells = Stubs(traits[i].texts, kCellRoom);
    columns.push_back({heads[i]});
    for (const size_t row : order) columns.back().push_back(cells[row]);
  }
  return columns;
}

size_t WidthOf(const Texts& column) {
  size_t width = 0;
  for (const std::string& cell : column) width = std::max(width, DisplayWidth(cell));
  return width;
}

std::string RunsAsRows(const std::vector<Compared>& jobs, const std::vector<Trait>& traits,
                       const std::vector<size_t>& order, size_t width) {
  Texts ids = {"JOB"};
  for (const size_t row : order) ids.push_back(jobs[row].id);
  const std::vector<Texts> columns = ColumnsOf(traits, order);
  std::string out;
  for (size_t next = 0; next < columns.size() || out.empty();) {
    std::vector<const Texts*> shown = {&ids};
    std::vector<size_t> widths = {WidthOf(ids)};
    size_t used = widths[0];
    while (next < columns.size()) {
      const size_t wide = WidthOf(columns[next]);
      if (shown.size() > 1 && used + kBetween + wide > width) break;
      used += kBetween + wide;
      widths.push_back(wide);
      shown.push_back(&columns[next++]);
    }
    if (!out.empty()) out += "\n";
    for (size_t row = 0; row < ids.size(); ++row) {
      Texts cells;
      for (const Texts* column : shown) cells.push_back((*column)[row]);
      PutRow(cells, widths, &out);
    }
  }
  return out;
}

}  // namespace

std::string CompareTable(const std::vector<Compared>& jobs, const std::optional<BestRun>& best,
                         const CompareLook& look) {
  const bool rows = jobs.size() > kSideBySide;
  const size_t width = std::max<size_t>(60, look.width);
  std::vector<Trait> traits;
  if (rows) traits.push_back(NameTrait(jobs));
  if (rows && best) traits.push_back(BestTrait(jobs, *best));
  AddSection(jobs, "HYPERPARAMETERS", &Compared::hyperparameters, &traits);
  size_t runtime = 0;
  if (rows) runtime = AddMetrics(jobs, look.all, &traits);
  AddSection(jobs, "CODE", &Compared::code, &traits);
  AddSection(jobs, "ENVIRONMENT", &Compared::environment, &traits);
  AddSection(jobs, "MACHINE", &Compared::machine, &traits);
  const std::string of_ran = rows ? "" : AddRanWith(jobs, look.all, &traits);
  if (!rows) runtime = AddMetrics(jobs, look.all, &traits);
  if (!rows) traits.push_back(NameTrait(jobs));
  AddSection(jobs, "RESULT", &Compared::result, &traits);
  if (!look.all) std::erase_if(traits, [](const Trait& trait) { return trait.OneText(); });
  std::string out =
      rows ? RunsAsRows(jobs, traits, OrderOf(jobs, best), width) : SideBySide(jobs, traits, width);
  if (traits.empty()) out += "They differ in nothing that is known of them.\n";
  if (!of_ran.empty()) out += "\n" + of_ran;
  if (runtime > 0) {
    out += "\nLeft out: " + std::to_string(runtime) + (runtime == 1 ? " metric" : " metrics") +
           " of how fast they ran, and the like; --all shows them.\n";
  }
  return out;
}

}  // namespace stoker::cli
