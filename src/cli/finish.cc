// SPDX-License-Identifier: Apache-2.0
#include "cli/finish.h"

#include <algorithm>

#include "base/json.h"
#include "cli/attach.h"
#include "cli/terminal/interrupts.h"
#include "cli/words/story.h"
#include "client/clear/private_over.h"
#include "client/login_end.h"
#include "client/submit/allocation.h"
#include "client/submit/begin.h"
#include "client/tiers.h"
#include "spec/print.h"
#include "view/kept_outputs.h"

namespace stoker::cli {
namespace {

// `line` has who looks after the job at its end; what is unusual about that has its own.
void SayRecovery(Context& context, const JobSpec& spec, const std::string& line) {
  const client::RecoveryInShort recovery = client::TellRecoveryInShort(context, spec);
  context.Say(line + " · " + recovery.timer);
  if (!recovery.unusual.empty()) context.Say("looked after by " + recovery.unusual);
}

// "" = the machines of `job` that are here outlive this login.
std::string LoginEnd(const Job& job) {
  const std::vector<Offer> offers = AllOffers(job);
  const bool here = std::any_of(offers.begin(), offers.end(), [](const Offer& offer) {
    return offer.ask.place.provider == kLocalProvider;
  });
  return here ? client::TellLoginEnd(client::ThisLogin()) : "";
}

Status Detach(Context& context, const Job& job, const JobSpec& spec) {
  STOKER_ASSIGN(Controller * controller, context.controller());
  auto first = client::BeginJob(*controller, job.id);
  if (!context.json) {
    context.Print(job.id + "\n");
    SayRecovery(context, spec, "to follow it: stoker logs -f " + job.id);
  }
  const auto refused = client::HearOut(context, *controller, std::move(first));
  if (context.json) {
    nlohmann::json out = {{"id", job.id},
                          {"name", job.name},
                          {"workdir", job.workdir_note},
                          {"recovery_tiers", client::RecoveryTiers(context, job, &spec)}};
    if (!job.retry_of.empty()) out["retry_of"] = job.retry_of;
    if (!job.from.empty()) out["from"] = job.from;
    if (const std::string end = LoginEnd(job); !end.empty()) out["login_end"] = end;
    if (refused) out["ended"] = refused->result->why;
    context.Print(out.dump() + "\n");
  }
  if (refused) {
    context.Say("the job has ended: " + Printable(refused->result->why));
    context.exit_code = ExitCodeOf(*refused);
  }
  return Status::Ok();
}

}  // namespace

void SubmitsNow() {
  CatchInterrupts("stopped while the job was submitted: 'stoker ls' says whether it is there");
}

Status AfterSubmit(Context& context, const Job& job, const JobSpec& spec, bool detach, bool quiet) {
  STOKER_ASSIGN(Controller * controller, context.controller());
  controller->Submitted(job.id);
  const std::string end = LoginEnd(job);
  if (!end.empty()) context.Say("on this machine, " + end);
  if (detach) return Detach(context, job, spec);
  SayRecovery(context, spec,
              "job " + job.id + " (" + job.name + "). Ctrl-C leaves; the job goes on");
  AttachOptions options;
  options.logs = !quiet && !context.json;
  options.submitted = true;
  options.tie = client::TieOf(job);
  STOKER_ASSIGN(const AttachResult attached, Attach(context, job.id, options));
  if (attached.detached) {
    const auto& tie = options.tie;
    const std::string how =
        tie && !tie->outlive && tie->of->IsEnding(context.clock(), tie->job)
            ? "left; the job is cancelled with its allocation, after its save. To"
            : "left; the job goes on. To";
    context.Say(how + " follow it again: stoker logs -f " + job.id +
                ". To stop it: stoker cancel " + job.id);
    return Status::Ok();
  }
  STOKER_ASSIGN(const PassResult pass, controller->Pass(job.id));
  client::ForgetPrivate(context);
  const StoryInput story{pass.job, nullptr, pass.reports, pass.store_now, {}, {}};
  // Of several nodes the last words of the one that failed are hard to find in the output.
  const bool all_seen = options.logs && pass.job.num_nodes == 1 && OutIsErr();
  const AlreadySaid said_before{attached.why_told, all_seen};
  STOKER_ASSIGN(ObjectStore * store, context.store());
  const KeptOutputs kept = ReadKeptOutputs(*store, job.id);
  if (context.json) {
    nlohmann::json out = StoryJson(story);
    out["kept"] = KeptJson(kept);
    context.Print(out.dump() + "\n");
  } else {
    context.SayPlain("\n" + TellSummary(pass.job, pass.reports, pass.store_now, said_before) +
                     "  kept " + KeptText(kept, job.id) + "\n");
  }
  context.exit_code = ExitCodeOf(pass.job);
  return Status::Ok();
}

std::string PrintSpecFor(const Context& context, const JobSpec& spec) {
  const std::string text = PrintJobSpec(spec);
  return context.json ? nlohmann::json(text).dump() + "\n" : text;
}

}  // namespace stoker::cli
