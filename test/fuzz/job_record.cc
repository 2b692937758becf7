// SPDX-License-Identifier: Apache-2.0
// A job's record, and what every look at a job does with it.
#include "job/encoding.h"
#include "ledger/summary.h"
#include "reconcile/reconcile.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

void ExpectSummary(const Job& job) {
  const Summary summary = SummaryOf(job);
  const auto again = DecodeSummary(EncodeSummary(summary));
  FUZZ_EXPECT(again.has_value(), EncodeSummary(summary));
  FUZZ_EXPECT(EncodeSummary(*again) == EncodeSummary(summary), EncodeSummary(*again));
}

// Whoever passes decides about it, before anybody asks whether it makes sense.
void ExpectDecision(const Job& job, WallTime now, bool gangs) {
  JobSpec spec;
  spec.name = "train";
  spec.run = "true";
  spec.num_nodes = job.num_nodes;
  Observed seen;
  seen.now = now;
  seen.ledger_id = "ledger";
  seen.places = {{"local", true, true, gangs, !gangs}};
  seen.checkpoints.emplace();
  const Decision decision = Reconcile(job, spec, seen);
  const std::string text = EncodeJob(decision.job);
  const auto again = DecodeJob("decided", text);
  FUZZ_EXPECT(again.ok(), again.status().ToString() + "\n" + text);
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(job_record) {
  using namespace stoker;
  using namespace stoker::fuzz;
  const auto job = DecodeJob("jobs/j/job.json", input);
  if (!job.ok()) {
    FUZZ_EXPECT(Refused(job.status(), Code::kCorrupt, Code::kTooNew), job.status().ToString());
    return;
  }
  const std::string text = EncodeJob(*job);
  const auto again = DecodeJob("jobs/j/job.json", text);
  FUZZ_EXPECT(again.ok(), again.status().ToString() + "\n" + text);
  FUZZ_EXPECT(EncodeJob(*again) == text, text + EncodeJob(*again));
  FUZZ_EXPECT(again->extra == job->extra, job->extra + "\n" + again->extra);
  for (const Launch& launch : job->launches) {
    FUZZ_EXPECT(FindLaunch(*job, launch.number) == &launch, "two launches of one number");
  }
  for (const Request& request : job->requests) {
    FUZZ_EXPECT(FindRequest(*job, request.number) == &request, "two requests of one number");
    FUZZ_EXPECT(RequestToken("ledger", *job, request).size() == 64, "the token's size");
  }
  ExpectSummary(*job);
  ExpectDecision(*job, job->created + Duration::Minutes(1), false);
  ExpectDecision(*job, job->created + Duration::Minutes(1), true);
}
