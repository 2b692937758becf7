// SPDX-License-Identifier: Apache-2.0
// One curve of a series out of the attempts of a job. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/entries.h"

namespace stoker::metrics {

// What one attempt has of a series, in its order.
struct AttemptPart {
  int attempt = 0;
  bool ordered = false;  // its source names no steps: they count the points from 0
  std::vector<Entry> entries;
  bool by_epoch = false;  // its steps are epochs
  // Where the attempt began in the source of the series, in steps or epochs as the series has them;
  // unset: it has given none there.
  std::optional<int64_t> begin = {};
  // When what it restored was saved, for series without steps: 0 = it began at the start, -1 =
  // nobody knows.
  int64_t resumed = -1;
  std::string source = {};  // what the series comes from
};

// What later attempts have thrown away of the series of a source.
class Cut {
 public:
  void Begin(int64_t step);
  void Resume(int64_t saved);  // as AttemptPart has it
  bool Voids(bool ordered, const Entry& entry) const;

 private:
  std::optional<int64_t> begin_;
  int64_t resumed_ = -1;
};

struct CurveEntry {
  Entry entry;
  int attempt = 0;
  // A later attempt began at this step or before it: what was here was thrown away, whether or not
  // that attempt has it again.
  bool redone = false;
};

// The attempts one after another, by number; of those without entries it counts where they began.
// Where a later one begins, it wins: what earlier ones have from there on is redone. A bucket that
// begins before that step is not. Points without steps are redone where they came after what the
// later attempt restored was saved; the others are numbered on.
std::vector<CurveEntry> MakeCurve(std::vector<AttemptPart> parts);

}  // namespace stoker::metrics
