// SPDX-License-Identifier: Apache-2.0
// One curve of a series out of the attempts of a job. Pure.
#pragma once

#include <vector>

#include "metrics/entries.h"

namespace stoker::metrics {

// What one attempt has of a series, in its order.
struct AttemptPart {
  int attempt = 0;
  bool ordered = false;  // its source names no steps: they count the points from 0
  std::vector<Entry> entries;
  bool by_epoch = false;  // its steps are epochs
};

struct CurveEntry {
  Entry entry;
  int attempt = 0;
  // A later attempt began at this step or before it, and has it again.
  bool redone = false;
};

// The attempts one after another, by number. Where a later one begins, at its first step, it wins:
// what earlier ones have from there on is redone. A bucket that begins before that step is not.
// Points without steps are numbered on, since nobody can say which of them are the same.
std::vector<CurveEntry> MakeCurve(std::vector<AttemptPart> parts);

}  // namespace stoker::metrics
