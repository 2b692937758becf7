// SPDX-License-Identifier: Apache-2.0
// What a node reports: written each second by the other machines of a job.
#include "job/encoding.h"
#include "reconcile/reconcile.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

// A job of one node that runs, and this report of it.
void ExpectJudged(const NodeReport& report) {
  Job job;
  job.id = report.job;
  job.name = "train";
  job.created = {1'700'000'000'000};
  job.state = JobState::kRunning;
  AppendRequest(job, {0}).opened = job.created;
  job.launches.back().instance_id = "i-1";
  Attempt attempt;
  attempt.number = 1;
  attempt.launches = {1};
  attempt.opened = attempt.running.emplace(job.created);
  attempt.state = AttemptState::kRunning;
  job.attempts.push_back(attempt);
  JobSpec spec;
  spec.name = "train";
  spec.run = "true";
  Observed seen;
  seen.now = job.created + Duration::Minutes(2);
  seen.ledger_id = "ledger";
  seen.places = {{"local", true, false}};
  seen.machines.push_back({"i-1", 1, MachineState::kRunning, "", false});
  seen.reports.push_back({report, Duration::Seconds(1), Duration::Seconds(1)});
  seen.checkpoints.emplace();
  const Decision decision = Reconcile(job, spec, seen);
  const std::string text = EncodeJob(decision.job);
  const auto again = DecodeJob("decided", text);
  FUZZ_EXPECT(again.ok(), again.status().ToString() + "\n" + text);
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(node_report) {
  using namespace stoker;
  using namespace stoker::fuzz;
  auto report = DecodeReport("jobs/j/nodes/1-0.json", input);
  if (!report.ok()) {
    FUZZ_EXPECT(Refused(report.status(), Code::kCorrupt, Code::kTooNew),
                report.status().ToString());
    return;
  }
  const std::string text = EncodeReport(*report);
  const auto again = DecodeReport("jobs/j/nodes/1-0.json", text);
  FUZZ_EXPECT(again.ok(), again.status().ToString() + "\n" + text);
  FUZZ_EXPECT(EncodeReport(*again) == text, text + EncodeReport(*again));
  FUZZ_EXPECT(again->extra == report->extra, report->extra + "\n" + again->extra);
  ExpectJudged(*report);
  report->attempt = 1;
  report->rank = 0;
  report->launch = 1;
  report->instance_id = "i-1";
  ExpectJudged(*report);
}
