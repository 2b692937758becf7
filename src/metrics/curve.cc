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
  int64_t numbered = 0;
  for (AttemptPart& part : parts) {
    int64_t points = 0;
    for (Entry& entry : part.entries) {
      points += entry.count;
      if (part.ordered) {
        for (int64_t* step :
             {&entry.first_step, &entry.last_step, &entry.min_step, &entry.max_step}) {
          *step += numbered;
        }
      }
      curve.push_back({entry, part.attempt, false});
    }
    numbered += points;
  }
  // From the newest to the oldest: where the earliest beginning of all that is newer lies.
  std::optional<int64_t> begins;
  for (size_t at = curve.size(), i = parts.size(); i-- > 0;) {
    const size_t size = parts[i].entries.size();
    at -= size;
    if (size == 0 || parts[i].ordered) continue;
    for (size_t k = at; k < at + size; ++k) {
      curve[k].redone = begins && curve[k].entry.first_step >= *begins;
    }
    const int64_t first = curve[at].entry.first_step;
    begins = begins ? std::min(*begins, first) : first;
  }
  return curve;
}

}  // namespace stoker::metrics
