// SPDX-License-Identifier: Apache-2.0
#include "metrics/curve.h"

#include <algorithm>
#include <optional>

namespace stoker::metrics {

std::vector<CurveEntry> MakeCurve(std::vector<AttemptPart> parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const AttemptPart& a, const AttemptPart& b) {
    return a.attempt < b.attempt;
  });
  std::vector<CurveEntry> curve;
  for (const AttemptPart& part : parts) {
    for (const Entry& entry : part.entries) curve.push_back({entry, part.attempt, false});
  }
  // From the newest to the oldest: where the earliest beginning of all that is newer lies.
  Cut cut;
  for (size_t at = curve.size(), i = parts.size(); i-- > 0;) {
    const AttemptPart& part = parts[i];
    at -= part.entries.size();
    for (size_t k = at; k < at + part.entries.size(); ++k) {
      curve[k].redone = cut.Voids(part.ordered, curve[k].entry);
    }
    if (!part.entries.empty() && !part.ordered) cut.Begin(part.entries[0].first_step);
    if (part.begin) cut.Begin(*part.begin);
    cut.Resume(part.resumed);
  }
  int64_t numbered = 0;
  for (size_t at = 0, i = 0; i < parts.size(); ++i) {
    int64_t points = 0;
    for (size_t k = 0; k < parts[i].entries.size(); ++k, ++at) {
      Entry& entry = curve[at].entry;
      if (!curve[at].redone) points += entry.count;
      if (!parts[i].ordered) continue;
      for (int64_t* step :
           {&entry.first_step, &entry.last_step, &entry.min_step, &entry.max_step}) {
        *step += numbered;
      }
    }
    numbered += points;
  }
  return curve;
}

void Cut::Begin(int64_t step) { begin_ = begin_ ? std::min(*begin_, step) : step; }

void Cut::Resume(int64_t saved) {
  if (saved >= 0) resumed_ = resumed_ < 0 ? saved : std::min(resumed_, saved);
}

bool Cut::Voids(bool ordered, const Entry& entry) const {
  if (ordered) return resumed_ >= 0 && entry.first_time.ms > resumed_;
  return begin_ && entry.first_step >= *begin_;
}

}  // namespace stoker::metrics
