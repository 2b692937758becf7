// SPDX-License-Identifier: Apache-2.0
#include "view/cut_off.h"

namespace stoker {

std::vector<const NodeReport*> CutOff(const Job& job, const std::vector<ReportSeen>& reports) {
  std::vector<const NodeReport*> cut;
  for (const ReportSeen& seen : reports) {
    const NodeReport& report = seen.report;
    if (report.phase == NodePhase::kEnded || report.phase == NodePhase::kWaiting) continue;
    const Attempt* attempt = FindAttempt(job, report.attempt);
    if (attempt == nullptr || attempt->state != AttemptState::kEnded) continue;
    if (!IsFinal(job.state) && attempt == &job.attempts.back()) continue;
    cut.push_back(&report);
  }
  return cut;
}

}  // namespace stoker
