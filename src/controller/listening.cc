// SPDX-License-Identifier: Apache-2.0
#include "controller/listening.h"

#include <algorithm>

#include "base/deliberate_bug.h"

namespace stoker {
namespace {

// Half of what makes a node silent: one that reports as it should is never looked up nor kept.
constexpr Duration kQuietAfter = Duration::Seconds(45);

bool IsQuiet(const Job& job, const ReportSeen& seen) {
  const NodeReport& report = seen.report;
  if (IsFinal(job.state) || seen.age < kQuietAfter) return false;
  const Launch* launch = FindLaunch(job, report.launch);
  if (launch == nullptr || launch->closed) return false;
  const Attempt* attempt = FindAttempt(job, report.attempt);
  return attempt != nullptr && attempt->state != AttemptState::kEnded;
}

bool IsSame(const QuietNode& node, const NodeReport& report) {
  return node.attempt == report.attempt && node.rank == report.rank && node.seq == report.seq &&
         node.incarnation == report.incarnation;
}

}  // namespace

bool AnyQuiet(const Job& job, const std::vector<ReportSeen>& reports) {
  return std::any_of(reports.begin(), reports.end(),
                     [&](const ReportSeen& seen) { return IsQuiet(job, seen); });
}

QuietNodes NextQuietNodes(const QuietNodes& before, const Job& job,
                          const std::vector<ReportSeen>& reports, WallTime now) {
  QuietNodes looks;
  looks.at = now;
  const Duration gap = now - before.at;
  const bool goes_on = gap.ms >= 0 && (gap <= kNobodyLooked || BugIsOn("gaps-are-listened"));
  for (const ReportSeen& seen : reports) {
    if (!IsQuiet(job, seen)) continue;
    const NodeReport& report = seen.report;
    QuietNode node{report.attempt, report.rank, report.seq, report.incarnation, now, Duration{}};
    for (const QuietNode& known : before.nodes) {
      if (!goes_on || !IsSame(known, report) || known.since > now) continue;
      node.since = known.since;
      node.longest_gap = std::max(known.longest_gap, gap);
    }
    looks.nodes.push_back(node);
  }
  return looks;
}

void CountQuietNodes(const QuietNodes& looks, std::vector<ReportSeen>* reports) {
  for (ReportSeen& seen : *reports) {
    for (const QuietNode& node : looks.nodes) {
      if (!IsSame(node, seen.report)) continue;
      const Duration gap = BugIsOn("gaps-are-listened") ? Duration{} : node.longest_gap;
      seen.unchanged = std::max(seen.unchanged, looks.at - node.since - gap);
    }
  }
}

}  // namespace stoker
