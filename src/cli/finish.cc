// SPDX-License-Identifier: Apache-2.0
#include "cli/finish.h"

#include "base/json.h"
#include "cli/allocation.h"
#include "cli/attach.h"
#include "cli/late_answers.h"
#include "cli/private_env.h"
#include "cli/story.h"
#include "cli/tiers.h"
#include "spec/print.h"
#include "view/kept_outputs.h"

namespace stoker::cli {
namespace {

constexpr int kEndWithin = 6;  // passes from a refusal to the job's end

// `line` has who looks after the job at its end; what is unusual about that has its own.
void SayRecovery(Context& context, const JobSpec& spec, const std::string& line) {
  const RecoveryInShort recovery = TellRecoveryInShort(context, spec);
  context.Say(line + " · " + recovery.timer);
  if (!recovery.unusual.empty()) context.Say("looked after by " + recovery.unusual);
}

Status Detach(Context& context, const Job& job, const JobSpec& spec) {
  STOKER_ASSIGN(Controller * controller, context.controller());
  auto pass = controller->Pass(job.id);
  // What was refused for good ends the job at once: nobody else may come by for a while. Nor to
  // begin it, where somebody else wrote into its record at the same time, or to end it, where that
  // was a cancel.
  const auto unsettled = [](const PassResult& seen) {
    return seen.trouble || seen.job.attempts.empty() || seen.job.cancel;
  };
  for (int i = 0; i < kEndWithin && pass.ok() && unsettled(*pass); ++i) {
    if (IsFinal(pass->job.state)) break;
    auto next = controller->Pass(job.id);
    if (!next.ok() || (!next->changed && !next->job.attempts.empty())) break;
    if (!next->trouble) next->trouble = pass->trouble;
    pass = std::move(next);
  }
  if (context.json) {
    nlohmann::json out = {{"id", job.id},
                          {"name", job.name},
                          {"workdir", job.workdir_note},
                          {"recovery_tiers", RecoveryTiers(context, job, &spec)}};
    if (!job.retry_of.empty()) out["retry_of"] = job.retry_of;
    if (!job.from.empty()) out["from"] = job.from;
    context.Print(out.dump() + "\n");
  } else {
    context.Print(job.id + "\n");
    SayRecovery(context, spec, "to follow it: stoker logs -f " + job.id);
  }
  if (pass.ok()) pass = AwaitLateAnswers(context, *controller, std::move(*pass));
  // The job is in the ledger: a first pass that failed is worth a word, not a failure.
  const Status trouble = !pass.ok() ? pass.status() : pass->trouble.value_or(Status::Ok());
  if (!trouble.ok()) context.Say("no machine yet: " + trouble.ToString());
  return Status::Ok();
}

}  // namespace

Status AfterSubmit(Context& context, const Job& job, const JobSpec& spec, bool detach, bool quiet) {
  STOKER_ASSIGN(Controller * controller, context.controller());
  controller->Submitted(job.id);
  if (detach) return Detach(context, job, spec);
  SayRecovery(context, spec,
              "job " + job.id + " (" + job.name + "). Ctrl-C leaves; the job goes on");
  AttachOptions options;
  options.logs = !quiet && !context.json;
  options.submitted = true;
  options.tie = TieOf(job);
  STOKER_ASSIGN(const AttachResult attached, Attach(context, job.id, options));
  if (attached.detached) {
    const std::string how =
        options.tie && IsEnding(context.clock(), *options.tie) && !options.tie->outlive
            ? "left; the job is cancelled with its allocation, after its save. To"
            : "left; the job goes on. To";
    context.Say(how + " follow it again: stoker logs -f " + job.id +
                ". To stop it: stoker cancel " + job.id);
    return Status::Ok();
  }
  STOKER_ASSIGN(const PassResult pass, controller->Pass(job.id));
  ForgetPrivate(context);
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
