// SPDX-License-Identifier: Apache-2.0
#include "client/move.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "client/open/own_binaries.h"
#include "client/submit/allocation.h"
#include "client/submit/late_answers.h"
#include "client/submit/offers.h"
#include "client/submit/private_env.h"
#include "ledger/records.h"
#include "provider/job_secrets.h"
#include "provider/local/local_private.h"
#include "provider/local/local_provider.h"
#include "provider/registry.h"
#include "spec/choices.h"
#include "spec/parse.h"
#include "spec/text/infra.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

Status MayMove(const Job& job) {
  if (IsFinal(job.state)) {
    return Status(Code::kInvalid,
                  "job " + job.id + " has ended: it is " + std::string(Name(job.state)),
                  "'stoker run --from " + job.id +
                      " --infra WHERE' goes on from its newest "
                      "checkpoint there");
  }
  if (job.cancel) {
    return Status(Code::kInvalid, "job " + job.id + " is being cancelled");
  }
  if (!job.movable) {
    return Status(
        Code::kInvalid, "job " + job.id + " was submitted by a stoker whose nodes know no moves",
        "'stoker cancel " + job.id + "', then 'stoker run --from " + job.id + " --infra WHERE'");
  }
  return Status::Ok();
}

// What a machine of this computer needs, and has only if the job was submitted here.
Status CheckHere(Client& client, const Job& job, const JobSpec& spec, const LocalPrivate& own) {
  const std::string provider = ParseInfra(spec.resources.infra).provider;
  for (const std::string& name : OwnSecretNames(spec)) {
    const bool has = std::any_of(own.secrets.begin(), own.secrets.end(),
                                 [&](const auto& secret) { return secret.first == name; });
    if (has) continue;
    return Status(Code::kInvalid,
                  "the secret " + name + " of job " + job.id + " is not on this computer",
                  job.secrets_in.empty()
                      ? "Move the job from the computer that it was submitted on"
                      : "It lies in the cloud that it was submitted to: 'stoker run --from " +
                            job.id + " --infra WHERE' with " + name + " in your environment");
  }
  if (provider != kLocalProvider) return Status::Ok();
  for (const InputSpec& input : spec.inputs) {
    if (input.source[0] != '/' || sys::FileExists(input.source) || sys::DirExists(input.source)) {
      continue;
    }
    return Status(Code::kInvalid, "the input '" + input.name +
                                      "' is not on this computer: " + Printable(input.source));
  }
  STOKER_ASSIGN(LocalProvider * local, client.local_provider());
  if (job.host.empty() || job.host == local->host()) return Status::Ok();
  return Status(Code::kInvalid, "the local machines of job " + job.id + " are another computer's",
                "Move it to a place that both reach first");
}

// Values lie where the job was submitted to, and nobody takes them out for another place: the mover
// need not have the right to read them.
Status CheckVaults(const Job& job, const JobSpec& spec, const std::vector<Offer>& offers) {
  const std::vector<std::string> names = OwnSecretNames(spec);
  if (names.empty()) return Status::Ok();
  for (const stoker::Place& vault : VaultsOf(offers)) {
    if (std::find(job.secrets_in.begin(), job.secrets_in.end(), vault) != job.secrets_in.end()) {
      continue;
    }
    return Status(Code::kInvalid,
                  "secrets of job " + job.id + " do not lie in " +
                      (vault.region.empty() ? vault.account : vault.region) + ": " +
                      Join(names, ", "),
                  "'stoker run --from " + job.id + " --infra WHERE' with " + names[0] +
                      " in your environment goes on there from its newest checkpoint");
  }
  return Status::Ok();
}

// What is written into the record.
struct Resolved {
  Move move;
  bool local = false;
  std::string host;
  std::string path;
};

Result<Resolved> Resolve(Client& client, const Job& job, const MoveWish& asked) {
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(const std::string text, ReadSpec(*ledger, job));
  STOKER_ASSIGN(JobSpec spec, ParseStoredSpec(text));
  auto infra = CheckInfra("--infra", asked.infra);
  if (!infra.ok()) return Status(Code::kUsage, infra.status().message(), infra.status().next());
  NarrowChoices(*infra, &spec);
  STOKER_TRY(CheckPlace(spec));
  STOKER_TRY(CheckWholeShell(spec));
  LocalPrivate own;
  if (auto kept = ReadLocalPrivate(client.places().state, ledger->id(), job.id); kept.ok()) {
    own = std::move(*kept);
  }
  const bool rented = AnyChoiceHas(spec, &BrokerTraits::rents);
  if (!rented) STOKER_TRY(CheckHere(client, job, spec, own));
  Resolved wish;
  STOKER_ASSIGN(wish.move.offers,
                ResolveOffers(client, spec, client.clock().Wall(), own != LocalPrivate()));
  STOKER_TRY(CheckVaults(job, spec, wish.move.offers));
  TieToAllocation(client, {asked.outlive, false}, &wish.move.offers);
  if (rented) {
    STOKER_TRY(CompleteOffers(client, job.binary_digest, &wish.move.offers));
  } else {
    STOKER_TRY(BringBinary(client, job.binary_digest));
    if (AnyChoiceHas(spec, &BrokerTraits::reads_owner)) {
      STOKER_TRY(WriteLocalPrivate(client.places().state, ledger->id(), job.id, own));
    }
  }
  wish.move.to = *infra;
  wish.move.by = client.user();
  wish.move.lead = asked.lead;
  wish.local = ParseInfra(*infra).provider == kLocalProvider;
  STOKER_ASSIGN(LocalProvider * local, client.local_provider());
  wish.host = local->host();
  const char* path = std::getenv("PATH");
  wish.path = path != nullptr ? Printable(path) : "";
  return wish;
}

// Decides on the record as it is now; false: it stays as it is.
Result<bool> Propose(const Resolved& wish, const MoveWish& asked, Job* job, MoveAnswer* answer) {
  STOKER_TRY(MayMove(*job));
  std::set<std::string> beside;
  for (const ProviderLine& line : Registry()) {
    if (line.traits.may_be_here) beside.insert(line.traits.name);
  }
  *answer = ProposeMove({wish.move, asked.now, asked.force, std::move(beside)}, *job);
  if (*answer == MoveAnswer::kAsked && wish.local) {
    job->host = wish.host;
    job->path = wish.path;
  }
  return *answer == MoveAnswer::kAsked || *answer == MoveAnswer::kGivesUp;
}

// What the last look showed, each thing once.
class Progress {
 public:
  Progress(Client& client, std::string to) : client_(client), to_(std::move(to)) {}

  void Look(const PassResult& pass) {
    const Job& job = pass.job;
    if (pass.trouble) Once(pass.trouble->ToString());
    if (!job.move) return;
    for (const Request& request : job.requests) {
      if (request.number < job.move->request || !request.refusal) continue;
      Once(to_ + " refuses (" + std::string(Name(request.refusal->what)) +
           "): " + Printable(request.refusal->message));
    }
    if (job.move->state == MoveState::kTold) {
      Once("its nodes are told: SIGTERM comes within " + FormatDuration(job.move->lead) +
           ", then the program has its stop_grace to end; its log tells both times");
    }
    for (const Attempt& attempt : job.attempts) {
      if (attempt.number >= job.move->attempt || attempt.state != AttemptState::kEnded) continue;
      if (!attempt.ending || attempt.ending->reason != EndReason::kMoved) continue;
      Once("attempt " + std::to_string(attempt.number) + " has ended" +
           (attempt.newest_checkpoint.empty()
                ? ", without a checkpoint"
                : "; its newest checkpoint is " + attempt.newest_checkpoint));
    }
    client_.Progress("moving " + job.id + " to " + to_ + " …");
  }

 private:
  void Once(const std::string& text) {
    if (said_.insert(text).second) client_.Say(text);
  }
  Client& client_;
  std::string to_;
  std::set<std::string> said_;
};

bool IsOver(const Job& job) { return MoveUnderWay(job) == nullptr || IsFinal(job.state); }

}  // namespace

Result<MoveAsked> AskMove(Client& client, const MoveWish& wish) {
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(Controller * controller, client.controller());
  STOKER_ASSIGN(const PassResult pass, controller->Pass(wish.job));
  STOKER_TRY(MayMove(pass.job));
  STOKER_ASSIGN(Resolved resolved, Resolve(client, pass.job, wish));
  resolved.move.at = pass.store_now;
  MoveAsked asked;
  asked.to = resolved.move.to;
  controller->Submitted(wish.job);
  STOKER_ASSIGN(auto written, MutateJob(*ledger, wish.job, [&](Job& job) {
                  return Propose(resolved, wish, &job, &asked.answer);
                }));
  asked.job = std::move(written.job);
  if (asked.answer == MoveAnswer::kGivesUp) (void)controller->Pass(wish.job);
  return asked;
}

Result<std::optional<Job>> FollowMove(Client& client, const MoveAsked& asked,
                                      const std::function<bool()>& leave) {
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(Controller * controller, client.controller());
  Progress progress(client, asked.to);
  for (;;) {
    auto pass = controller->Pass(asked.job.id);
    if (!pass.ok() && !pass.status().transient()) return pass.status();
    if (pass.ok()) {
      progress.Look(*pass);
      const Job& job = pass->job;
      const bool gone_back = job.move && job.move->state == MoveState::kGivingUp;
      if (IsOver(job) && !gone_back) return std::optional<Job>(std::move(pass->job));
    }
    if (leave()) return std::optional<Job>();
    std::this_thread::sleep_for(std::chrono::milliseconds(ledger->store().traits().poll.ms));
  }
}

Result<Job> LeaveMove(Client& client, const MoveAsked& asked) {
  STOKER_ASSIGN(Controller * controller, client.controller());
  STOKER_ASSIGN(PassResult pass, controller->Pass(asked.job.id));
  STOKER_ASSIGN(pass, AwaitLateAnswers(client, *controller, std::move(pass)));
  if (pass.trouble) client.Say("no machine yet: " + pass.trouble->ToString());
  return std::move(pass.job);
}

Status CheckMoved(const Job& job) {
  if (!job.move || job.move->state != MoveState::kGivenUp) return Status::Ok();
  return Status(Code::kInvalid, "job " + job.id + " does not move: " + job.move->why,
                "It goes on where it was; 'stoker show " + job.id + "' tells how");
}

}  // namespace stoker::client
