// SPDX-License-Identifier: Apache-2.0
// What the command line's verbs do to the ledger, on the shipped ledger and controller.
#include <algorithm>

#include "base/digest.h"
#include "controller/all_jobs.h"
#include "ledger/blobs.h"
#include "ledger/collect/collect.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "ledger/resolve.h"
#include "policy/moving.h"
#include "sim/people/actor.h"
#include "sim/people/away.h"
#include "spec/print.h"

namespace stoker::sim {
namespace {

constexpr char kUser[] = "ada";
constexpr int64_t kAsksAgain = 300'000;

JobSpec SpecOf(const JobPlan& plan, int index) {
  JobSpec spec;
  spec.name = "j" + std::to_string(index);
  spec.num_nodes = plan.nodes;
  spec.run = "python train.py";
  spec.checkpoints.keep = plan.keep;
  spec.checkpoints.quiet = plan.quiet;
  spec.limits.max_duration = plan.max_duration;
  spec.limits.stall = plan.stall;
  spec.keep_failed = plan.keep_failed;
  if (plan.stale_points > 0) {
    spec.stop_when.push_back(
        {"loss does not fall for " + std::to_string(plan.stale_points) + " points", false});
  }
  spec.job_recovery.max_restarts_on_errors = plan.max_restarts_on_errors;
  spec.job_recovery.recover_on_exit_codes = plan.recover_on_exit_codes;
  spec.stop_grace = plan.stop_grace;
  return spec;
}

// In every zone, beginning with the one of this index.
std::vector<Offer> OffersFrom(World& world, const JobPlan& plan, size_t first) {
  std::vector<Offer> offers;
  const std::vector<Zone>& zones = world.plan().zones;
  for (size_t i = 0; i < zones.size(); ++i) {
    const Zone& zone = zones[(i + first) % zones.size()];
    Offer offer;
    offer.ask.place.zone = zone.name;
    if (!zone.provider.empty()) offer.ask.place.provider = zone.provider;
    if (plan.in_order) offer.rank = static_cast<int>(i);
    if (zone.price > 0) offer.price = zone.price;
    if (plan.ceiling > 0) offer.ask.ceiling = plan.ceiling;
    if (plan.large) offer.ask.type = kLargeType;
    offers.push_back(offer);
  }
  return offers;
}

// Transient failures are tried again, as a user does.
template <typename Call>
auto Insist(Session& session, Call call) {
  for (int64_t pause = 500;; pause = std::min<int64_t>(pause * 2, 30'000)) {
    auto result = call();
    if (result.ok() || !result.status().transient()) return result;
    session.Sleep(pause);
  }
}

}  // namespace

Result<std::string> SubmitJob(Session& session, int plan_index, const std::string& retry_of) {
  const JobPlan& plan = session.world.plan().jobs[static_cast<size_t>(plan_index)];
  JobSpec spec = SpecOf(plan, plan_index);
  if (session.world.plan().restarts) spec.on_stop = OnStop::kRestart;
  const std::string code = "code of " + spec.name;
  const std::string binary = "stoker";
  Job job;
  job.code_digest = Sha256Hex(code);
  job.binary_digest = Sha256Hex(binary);
  STOKER_ASSIGN(const bool new_code, Insist(session, [&] {
                  return PutBlobText(*session.ledger, job.code_digest, code);
                }));
  STOKER_ASSIGN(const bool new_binary, Insist(session, [&] {
                  return PutBlobText(*session.ledger, job.binary_digest, binary);
                }));
  (void)new_code;
  (void)new_binary;
  const std::string text = PrintJobSpec(spec);
  job.name = spec.name;
  job.user = kUser;
  job.spec_digest = Sha256Hex(text);
  job.num_nodes = plan.nodes;
  job.retry_of = retry_of;
  job.movable = true;
  if (plan.any_zone > 0 || plan.large) {
    const int first = std::max(1, plan.any_zone) - 1;
    job.offers = OffersFrom(session.world, plan, static_cast<size_t>(first));
  }
  job.created = session.clock.Wall();
  job.id = session.world.IdNextDoor(plan_index);
  if (job.id.empty()) job.id = session.ledger->NewJobId();
  const auto created = CreateJob(*session.ledger, job, text);
  if (created.ok()) return created->job.id;
  if (created.status().Is(Code::kExists)) return job.id;
  return created.status();
}

void Attach(Session& session, const std::string& job, int64_t until) {
  for (;;) {
    const auto pass = session.controller->Pass(job);
    if (pass.ok() && IsFinal(pass->job.state)) return;
    if (!pass.ok() && !pass.status().transient() && !pass.status().Is(Code::kConflict)) return;
    if (until >= 0 && session.world.now() >= until) return;
    session.Sleep(session.store.traits().poll.ms);
  }
}

void CancelJob(Session& session, const std::string& job) {
  const auto asked = Insist(session, [&] { return ReadJob(*session.ledger, job); });
  if (!asked.ok()) return;
  const WallTime now = asked->store_now;
  const auto read = Insist(session, [&] {
    return MutateJob(*session.ledger, job, [&](Job& record) -> Result<bool> {
      if (IsFinal(record.state) || record.cancel) return false;
      record.cancel = CancelRequest{now, kUser};
      return true;
    });
  });
  if (!read.ok()) return;
  if (!IsFinal(read->job.state)) return Attach(session, job, -1);
  // Its machines may be kept: then that is what is meant.
  if (!KeptUntil(read->job, now)) return;
  (void)Insist(session, [&] { return EndKeptInRecord(*session.ledger, job, kUser); });
}

void MoveJob(Session& session, int plan_index, const std::string& job, int number) {
  World& world = session.world;
  const Plan& plan = world.plan();
  const JobPlan& of = plan.jobs[static_cast<size_t>(plan_index)];
  const size_t zones = plan.zones.size();
  const auto to = static_cast<size_t>(plan_index + number + of.any_zone) % (zones + 1);
  const bool calm = world.now() >= plan.calm;
  MoveWish wish;
  wish.move.by = kUser;
  wish.move.lead = Duration::Seconds(10 * (1 + number % 4));
  wish.now = number % 2 == 1 || calm;
  wish.force = number % 5 == 4;
  wish.move.offers = OffersFrom(world, of, to % zones);
  if (!calm && number % 3 != 2) wish.move.offers.resize(1);
  if (!calm && to == zones) {
    wish.move.offers.resize(1);
    wish.move.offers[0].ask.place.zone = "nowhere";
  }
  wish.move.to = wish.move.offers[0].ask.place.zone;
  const auto asked = Insist(session, [&] { return ReadJob(*session.ledger, job); });
  if (!asked.ok()) return;
  wish.move.at = asked->store_now;
  session.controller->Submitted(job);
  MoveAnswer answer = MoveAnswer::kAsked;
  const auto ask = [&] {
    return Insist(session, [&] {
      return MutateJob(*session.ledger, job, [&](Job& record) -> Result<bool> {
        if (IsFinal(record.state) || record.cancel || !record.movable) return false;
        // Thought of before the calm, and written after it, maybe after the wish for any place:
        // where it goes there may be no room for good.
        if (!calm && world.now() >= plan.calm) return false;
        answer = ProposeMove(wish, record);
        return answer == MoveAnswer::kAsked || answer == MoveAnswer::kGivesUp;
      });
    });
  };
  auto written = ask();
  const int64_t until = world.now() + 1'800'000;
  while (written.ok() && world.now() < until) {
    const auto pass = session.controller->Pass(job);
    if (pass.ok() && IsFinal(pass->job.state)) return;
    if (calm && answer == MoveAnswer::kThere) {
      // The machine that it is said to have there may yet be refused for want of room: whoever
      // wanted any place asks again (seed 14000004240).
      session.Sleep(kAsksAgain);
      written = ask();
      continue;
    }
    if (pass.ok() && MoveUnderWay(pass->job) == nullptr) return;
    if (!pass.ok() && !pass.status().transient() && !pass.status().Is(Code::kConflict)) return;
    session.Sleep(session.store.traits().poll.ms);
  }
}

void Look(Session& session) {
  if (!ListJobs(*session.ledger).ok()) return;
  PassOnce(session);
  if (session.world.plan().garbage_collected) (void)CollectGarbage(*session.ledger, {});
}

void PassOnce(Session& session) { (void)PassAll(*session.ledger, *session.controller); }

std::string FindJob(Session& session, const std::string& name) {
  const auto found = Insist(session, [&] {
    return ResolveJob(*session.ledger, name, {"", kUser, ""});
  });
  if (!found.ok()) return "";
  // The start of another job's id, while there is none of the name: its user sees that.
  const auto read = Insist(session, [&] { return ReadJob(*session.ledger, found->id); });
  return read.ok() && read->job.name == name ? found->id : "";
}

}  // namespace stoker::sim
