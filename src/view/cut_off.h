// SPDX-License-Identifier: Apache-2.0
// Nodes that were gone before their last word: what they had not saved by then is lost, and nobody
// else can know how much that is. Pure.
#pragma once

#include <vector>

#include "job/job.h"
#include "reconcile/reconcile.h"

namespace stoker {

// The newest report of each node that had begun to work in an attempt that is over, and never said
// that it had ended there. Of a job that has not ended, attempts that another one has followed:
// of the newest a word may still come. They point into `reports`.
std::vector<const NodeReport*> CutOff(const Job& job, const std::vector<ReportSeen>& reports);

}  // namespace stoker
