// SPDX-License-Identifier: Apache-2.0
// A notice is acted on before any provider is asked for its machines: a cloud takes a second for a
// list, or does not answer, and what the next attempt needs is to be asked for while the notice
// runs. What reconcile decides while it knows of no machine is what it decides while providers do
// not answer.
#include <algorithm>
#include <set>

#include "controller/controller.h"
#include "ledger/records.h"
#include "spec/text/infra.h"

namespace stoker {

bool HasNewNotice(const Job& job, const std::vector<ReportRead>& reports) {
  if (job.cancel || IsFinal(job.state)) return false;
  return std::any_of(reports.begin(), reports.end(), [&](const ReportRead& read) {
    const Attempt* attempt = FindAttempt(job, read.report.attempt);
    const bool trains =
        attempt != nullptr && !attempt->ending &&
        (attempt->state == AttemptState::kStaging || attempt->state == AttemptState::kRunning);
    return trains && read.report.notice.has_value();
  });
}

Result<bool> Controller::Hurry(const JobRead& read, const JobSpec& spec,
                               const std::vector<ReportRead>& reports, PassResult* result) {
  Observed seen;
  seen.now = read.store_now;
  seen.ledger_id = ledger_.id();
  seen.store_url = ledger_.store().url();
  ObserveReports(read.job, reports, clock_.Mono(), &seen);
  std::set<std::string> providers = {ParseInfra(spec.resources.infra).provider};
  for (const Offer& offer : AllOffers(read.job)) providers.insert(offer.ask.place.provider);
  for (const Request& request : read.job.requests) providers.insert(request.ask.place.provider);
  for (const std::string& name : providers) seen.places.push_back(PlaceFor(read.job, name));
  Decision decision = Reconcile(read.job, spec, seen);
  if (!decision.changed || decision.want_checkpoints) return false;
  STOKER_ASSIGN(const JobRead written, UpdateJob(ledger_, read, decision.job));
  result->store_now = read.store_now;
  result->job = written.job;
  decision.terminate.clear();
  decision.start.clear();
  decision.retire = false;
  Outcomes outcomes;
  const Status acted = Act(result->job, spec, decision, &outcomes);
  const Status noted = Note(read.job.id, outcomes, result);
  if (!acted.ok() || !noted.ok()) result->trouble = acted.ok() ? noted : acted;
  result->notes = decision.notes;
  return true;
}

Result<PassResult> Controller::AfterHurry(const std::string& job_id, PassResult hurried) {
  auto rest = Pass(job_id);
  if (!rest.ok()) return hurried;  // what was done counts; the next pass sees what is wrong
  rest->changed = true;
  rest->notes.insert(rest->notes.begin(), hurried.notes.begin(), hurried.notes.end());
  if (!rest->trouble) rest->trouble = hurried.trouble;
  return rest;
}

}  // namespace stoker
