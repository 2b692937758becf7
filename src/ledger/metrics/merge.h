// SPDX-License-Identifier: Apache-2.0
// Several segments of metrics as one. Inside ledger/metrics/ only.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/metrics/lines.h"
#include "ledger/metrics/segment.h"

namespace stoker {

struct MergePart {
  std::string key;  // for messages
  ReadPacked read;
};

// One segment of what `parts`, which follow one another, hold. Of each a line or two is held, and
// of all together one series.
Status MergeMetricSegments(std::vector<MergePart> parts, const TakePacked& take);

}  // namespace stoker
