// SPDX-License-Identifier: Apache-2.0
// What was told already of the troubles that nodes report, so that one that lasts is said once.
// Pure; not thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "job/job.h"
#include "reconcile/reconcile.h"

namespace stoker {

class TroublesTold {
 public:
  // The reports whose trouble no earlier call had: of each attempt and node by itself, and whatever
  // it counts ("3 tries", "4 tries"). What is over for a node is news when it comes again. They
  // point into `reports`.
  std::vector<const NodeReport*> News(const std::vector<ReportSeen>& reports);

 private:
  std::map<std::pair<int, int>, std::set<std::string>> told_;  // by attempt and rank
};

}  // namespace stoker
