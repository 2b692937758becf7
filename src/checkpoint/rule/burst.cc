// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/burst.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {
namespace {

// So many that three rounds of them would not fit into what is remembered.
constexpr size_t kMany = 96;
// Goes that the closing file may be late for: a busy machine stops a program between two files.
constexpr int kMayMiss = 2;

void Join(const Episode& one, Episode* burst) {
  burst->begin = std::min(burst->begin, one.begin);
  burst->end = std::max(burst->end, one.end);
  burst->files += one.files;
  burst->lived = burst->lived && one.lived;
}

}  // namespace

bool IsBurst(const Episode& episode) { return episode.files > 1; }

// A new go: what closed the one before, and whether that was as ever.
void Bursts::Begin(Unit* unit) {
  if (unit->closer.empty()) {
    if (!unit->last.empty() && unit->last == unit->before) unit->closer = unit->last;
  } else {
    unit->missed = unit->closed ? 0 : unit->missed + 1;
    if (unit->missed >= kMayMiss) unit->closer.clear();
  }
  unit->before = unit->last;
  unit->closed = false;
  unit->run = 0;
  unit->together = false;
}

bool Bursts::MayGather(const std::deque<Episode>& history, size_t count,
                       const std::string& top) const {
  if (history.size() < count) return false;
  return std::all_of(history.end() - static_cast<std::ptrdiff_t>(count), history.end(),
                     [&](const Episode& one) { return !IsBurst(one) && TopOf(one.path) == top; });
}

void Bursts::Added(std::deque<Episode>* history) {
  const Episode& added = history->back();
  const std::string top = TopOf(added.path);
  Unit& unit = units_[top];
  if (added.begin - unit.end >= gap_) Begin(&unit);
  unit.end = std::max(unit.end, added.end);
  unit.last = added.path;
  if (added.path == unit.closer) {
    unit.closed = true;
    unit.run = 0;
    unit.together = false;
    return;
  }
  const std::string name = top + "/*";
  const bool goes_on = unit.together && history->size() >= 2 &&
                       IsBurst((*history)[history->size() - 2]) &&
                       (*history)[history->size() - 2].path == name;
  if (goes_on) {
    const Episode one = added;
    history->pop_back();
    Join(one, &history->back());
    return;
  }
  unit.together = false;
  ++unit.run;
  if (unit.run < kMany || !MayGather(*history, unit.run, top)) return;
  Episode burst = *(history->end() - static_cast<std::ptrdiff_t>(unit.run));
  for (size_t i = 1; i < unit.run; ++i) {
    Join(*(history->end() - static_cast<std::ptrdiff_t>(unit.run - i)), &burst);
  }
  burst.path = name;
  burst.role = name;
  burst.size = 0;
  history->erase(history->end() - static_cast<std::ptrdiff_t>(unit.run), history->end());
  history->push_back(std::move(burst));
  unit.run = 0;
  unit.together = true;
}

}  // namespace stoker
