// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/first_save.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "checkpoint/rule/episode.h"
#include "checkpoint/rule/step_number.h"

namespace stoker {
namespace {

std::vector<std::string> DigitsOf(const std::string& path) {
  std::vector<std::string> runs;
  bool inside = false;
  for (const char c : path) {
    if (IsDigit(c)) {
      if (!inside) runs.emplace_back();
      runs.back() += c;
    }
    inside = IsDigit(c);
  }
  for (std::string& run : runs) run.erase(0, std::min(run.find_first_not_of('0'), run.size()));
  return runs;
}

// Of two names of one role: no number of `path` is higher than that of `than` in its place.
bool NoneHigher(const std::string& path, const std::string& than) {
  const std::vector<std::string> mine = DigitsOf(path);
  const std::vector<std::string> others = DigitsOf(than);
  for (size_t i = 0; i < mine.size() && i < others.size(); ++i) {
    if (std::pair(mine[i].size(), mine[i]) > std::pair(others[i].size(), others[i])) return false;
  }
  return mine.size() == others.size();
}

bool IsBehind(const std::string& path, const std::string& than) {
  return NoneHigher(than, path) && !NoneHigher(path, than);
}

// Where a name says that it is one.
int64_t CertainStep(const std::string& path) {
  const StepNumber step = StepInPath(path);
  return step.certain() ? step.value : -1;
}

}  // namespace

FirstSave::FirstSave(BeganFrom from, const std::vector<FileFact>& restored)
    : from_(std::move(from)) {
  const auto counts = [](const FileFact& fact) {
    return fact.kind == FileKind::kFile && fact.size > 0 && !IsStream(fact.path);
  };
  int64_t largest = 0;
  for (const FileFact& fact : restored) {
    if (counts(fact)) largest = std::max(largest, fact.size);
  }
  for (const FileFact& fact : restored) {
    if (!counts(fact) || fact.size < largest / 2) continue;
    const std::string role = WithoutNumbers(fact.path);
    Known known{fact.path, fact.size, CertainStep(fact.path), fact.path};
    const auto [it, first] = large_.try_emplace(role, known);
    if (!first) {
      const std::string& last = it->second.last;
      if (!IsBehind(known.last, last)) known.last = last;
      it->second.last = known.last;
      if (known.step > it->second.step) it->second = known;
    }
    missing_.insert(role);
  }
}

bool FirstSave::Sees(const std::vector<FileFact>& written) {
  if (large_.empty()) return false;
  for (const FileFact& fact : written) {
    const auto it = large_.find(WithoutNumbers(fact.path));
    if (fact.kind != FileKind::kFile || it == large_.end()) continue;
    const Known& known = it->second;
    if (fact.size < known.size / 2) continue;
    missing_.erase(it->first);
    const int64_t step = CertainStep(fact.path);
    // "fold3.pt" behind "fold2.pt": it looked at what is there, and did what is not, without
    // reading any of it.
    went_on_ = went_on_ || (step < 0 && IsBehind(fact.path, known.last));
    if (step < 0 || known.step < 0) continue;
    went_on_ = went_on_ || step > known.step;
    // Half of it and less: no program that had loaded it would be there.
    if (step * 2 > known.step || step == known.step || !NoneHigher(fact.path, known.path)) continue;
    again_ = std::min(again_.value_or(step), step);
    before_ = std::max(before_, known.step);
  }
  return missing_.empty();
}

std::string FirstSave::Verdict(std::optional<bool> read) const {
  if (went_on_) return "";
  std::string why;
  if (read == false) {
    why = "no file of it was read before the first save";
  } else if (again_ && from_.own) {
    why = "the first save is of step " + std::to_string(*again_) + ", what was restored of step " +
          std::to_string(before_);
  }
  if (why.empty()) return "";
  return "began at 0 although checkpoint " + from_.checkpoint + " was restored: does " +
         from_.program + " load it? (" + why + ")";
}

}  // namespace stoker
