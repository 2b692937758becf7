// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/interrupts.h"
#include "cli/verb.h"
#include "cli/words/story.h"
#include "client/away.h"
#include "client/clear/holdings.h"
#include "client/clear/private_over.h"
#include "client/clear/removals.h"
#include "client/timer.h"
#include "controller/all_jobs.h"
#include "controller/away/bound.h"

namespace stoker::cli {
namespace {

using nlohmann::json;

struct ControllerOptions {
  bool once = false;
  bool install = false;
  bool uninstall = false;
  std::string where;
  std::vector<std::string> types, regions;
  int machines = 4;
  std::string price;
  bool unknown_prices = false;
  int disk = 500;
  std::string identity;
  bool yes = false;
  bool verbose = false;
  std::string interval = "15s";
};

void TellNotes(Context& context, const ControllerOptions& options, const std::string& id,
               const Result<PassResult>& pass) {
  if (!pass.ok()) {
    context.Say(id + ": " + pass.status().ToString());
    return;
  }
  if (pass->changed || options.verbose) {
    for (const std::string& note : pass->notes) context.Say(id + ": " + Printable(note));
  }
  if (pass->trouble) context.Say(id + ": " + pass->trouble->ToString());
}

// A pass over all jobs as one line of JSON.
class Tally {
 public:
  void Add(const std::string& id, const Result<PassResult>& pass) {
    if (!pass.ok()) {
      trouble_.push_back({{"id", id}, {"error", pass.status().ToString()}});
      return;
    }
    if (pass->changed) {
      changed_.push_back({{"id", id},
                          {"name", pass->job.name},
                          {"state", Name(pass->job.state)},
                          {"attempt", AttemptsThatRan(pass->job)},
                          {"notes", pass->notes}});
    }
    if (pass->trouble) trouble_.push_back({{"id", id}, {"error", pass->trouble->ToString()}});
  }

  void AddRemoved(const std::vector<std::string>& jobs) { removed_ = jobs; }

  std::string Line(WallTime now, const Result<AllJobsResult>& result) const {
    json out = {{"time", FormatRfc3339(now)}, {"changed", changed_}, {"trouble", trouble_}};
    if (!removed_.empty()) out["removed"] = removed_;
    if (result.ok()) {
      out.update(
          json{{"active", result->active}, {"passed", result->passed}, {"failed", result->failed}});
    } else {
      out["trouble"].push_back({{"error", result.status().ToString()}});
    }
    return out.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }

  bool changed() const { return !changed_.empty() || !removed_.empty(); }
  const json& trouble() const { return trouble_; }

 private:
  json changed_ = json::array();
  std::vector<std::string> removed_;
  json trouble_ = json::array();
};

// Of a loop: who looks after nothing has nothing to say, and what goes on failing says it once.
class News {
 public:
  bool Is(const Tally& tally, const Status& status) {
    const bool news =
        tally.changed() || tally.trouble() != trouble_ || status.message() != failure_;
    trouble_ = tally.trouble();
    failure_ = status.message();
    return news;
  }

 private:
  json trouble_ = json::array();
  std::string failure_;
};

// False: interrupted.
bool Pause(Context& context, Duration interval) {
  const MonoTime next = context.clock().Mono() + interval;
  while (context.clock().Mono() < next) {
    if (Interrupted()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min<int64_t>(interval.ms, 100)));
  }
  return true;
}

// A timer may be there before the first job, and a disk come back. Null: nothing is to be done.
Result<Ledger*> AwaitLedger(Context& context, bool once, Duration interval) {
  std::string told;
  for (;;) {
    const auto ledger = context.ledger();
    const bool missing = ledger.status().Is(Code::kNotFound);
    if (ledger.ok() || !missing || (once && !context.no_store_yet())) return ledger;
    if (ledger.status().message() != told) context.Say(ledger.status().ToString());
    told = ledger.status().message();
    if (once || !Pause(context, interval)) return nullptr;
  }
}

Status Loop(Context& context, const ControllerOptions& options, Duration interval) {
  CatchInterrupts();
  STOKER_ASSIGN(Ledger * ledger, AwaitLedger(context, options.once, interval));
  if (ledger == nullptr) return Status::Ok();
  STOKER_ASSIGN(Controller * controller, context.controller());
  controller->KeepQuietNodes(options.once);
  News news;
  for (;;) {
    Tally tally;
    const auto result = PassAll(*ledger, *controller, [&](const auto& id, const auto& pass) {
      TellNotes(context, options, id, pass);
      tally.Add(id, pass);
    });
    client::ForgetPrivate(context);
    client::SweepProvidersAtTimes(context);
    tally.AddRemoved(client::RemoveDueAtTimes(context));
    if (options.once && !result.ok()) return result.status();
    if (context.json && (news.Is(tally, result.status()) || options.once)) {
      context.Print(tally.Line(context.clock().Wall(), result));
    }
    if (options.once) return result->first_failure;
    if (!result.ok()) context.Say(result.status().ToString());
    if (!Pause(context, interval)) return Status::Ok();
  }
}

Result<Bound> BoundOf(const ControllerOptions& options) {
  Bound bound;
  bound.regions = options.regions;
  bound.types = options.types;
  bound.machines = options.machines;
  bound.unknown_prices = options.unknown_prices;
  bound.disk_gib = options.disk;
  bound.identity = options.identity;
  if (bound.types.empty()) {
    return Status(Code::kUsage,
                  "--install " + options.where +
                      " needs the types of machine that "
                      "may be asked for while nobody is at a desk",
                  "Name each: --type g5.xlarge");
  }
  if (bound.machines < 1 || bound.disk_gib < 0) {
    return Status(Code::kUsage, "--machines and --disk are whole numbers from 1 and from 0");
  }
  if (options.price.empty()) return bound;
  char* end = nullptr;
  const double dollars = std::strtod(options.price.c_str(), &end);
  if (*end != '\0' || !(dollars > 0) || dollars > 1e6) {
    return Status(Code::kUsage,
                  "--price '" + Printable(options.price) + "' is no number of dollars an hour",
                  "Write 1.5");
  }
  bound.price = static_cast<int64_t>(std::llround(dollars * 1e6));
  return bound;
}

void TellPlan(Context& context, const AwayPlan& plan) {
  context.Say("This makes, in your account:");
  for (const std::string& line : plan.makes) context.Say("  " + line);
  const Bound& bound = plan.wish.bound;
  // Of machines without a price that is known there is no sum.
  const std::string most =
      bound.unknown_prices ? ""
                           : ": at most " + PriceText(bound.price * bound.machines) + " at once";
  context.Say("It may ask for " + Described(bound) + most + ".");
  context.Say("Whoever can write to the bucket can make it ask for that.");
  context.Say("It costs " + plan.costs + ".");
}

json PlanJson(const AwayPlan& plan) {
  json policy = json::parse(plan.policy, nullptr, false);
  if (policy.is_discarded()) policy = plan.policy;
  return {{"makes", plan.makes},
          {"costs", plan.costs},
          {"bound", json::parse(EncodeBound(plan.wish.bound))},
          {"policy", std::move(policy)}};
}

Status InstallThere(Context& context, const ControllerOptions& options) {
  STOKER_ASSIGN(Bound bound, BoundOf(options));
  STOKER_ASSIGN(const AwayPlan plan, client::PlanAway(context, options.where, std::move(bound)));
  TellPlan(context, plan);
  if (context.json && !options.yes) context.Print(json{{"plan", PlanJson(plan)}}.dump() + "\n");
  if (!options.yes && (context.json || !context.Confirm("Make it?"))) {
    return Status(Code::kUsage, "nothing was made", "If you mean it, add --yes");
  }
  STOKER_ASSIGN(const auto done, client::InstallAway(context, options.where, plan));
  for (const std::string& line : done) context.Say(line);
  context.Say(
      "it looks after the jobs from now on; 'stoker doctor' says what it did last, and "
      "'stoker controller --uninstall " +
      options.where + "' takes it away");
  if (context.json) {
    context.Print(json{{"installed", options.where},
                       {"done", done},
                       {"bound", json::parse(EncodeBound(plan.wish.bound))}}
                      .dump() +
                  "\n");
  }
  return Status::Ok();
}

Status UninstallThere(Context& context, const ControllerOptions& options) {
  STOKER_ASSIGN(const auto taken, client::UninstallAway(context, options.where));
  for (const std::string& line : taken.taken) context.Say("took away " + line);
  if (taken.left.ok()) {
    context.Say(taken.taken.empty() ? "there was nothing to take away" : "nothing of it is left");
  }
  if (context.json) {
    json told = {{"taken", taken.taken}};
    if (!taken.left.ok()) told["left"] = taken.left.message();
    context.Print(told.dump() + "\n");
  }
  return taken.left;
}

Status Run(Context& context, const ControllerOptions& options) {
  if (options.install && options.uninstall) {
    return Status(Code::kUsage, "--install and --uninstall contradict each other",
                  "Give only one of them");
  }
  if (!options.where.empty()) {
    if (options.install) return InstallThere(context, options);
    if (options.uninstall) return UninstallThere(context, options);
    return Status(Code::kUsage, "'" + Printable(options.where) +
                                    "' is where --install or "
                                    "--uninstall work, and neither is given");
  }
  if (options.install || options.uninstall) {
    STOKER_TRY(options.install ? client::InstallTimer(context) : client::UninstallTimer(context));
    if (context.json) context.Print(nlohmann::json{{"timer", options.install}}.dump() + "\n");
    return Status::Ok();
  }
  const auto interval = ParseDuration(options.interval);
  if (!interval.ok() || interval->ms < 50) {
    return Status(
        Code::kUsage,
        "--interval '" + Printable(options.interval) + "' is not a duration of 50ms or more",
        "Write 5s, 30s or 1m");
  }
  return Loop(context, options, *interval);
}

}  // namespace

Verb ControllerVerb() {
  auto options = std::make_shared<ControllerOptions>();
  Verb verb = VerbOf(options, Run);
  verb.name = "controller";
  verb.summary = "Look after all jobs: in a loop, or from a timer";
  verb.description =
      "Looks after all running jobs, as every other command does: in a loop, once (--once), or "
      "every minute from a timer (--install). With it, a machine that dies while nobody looks is "
      "replaced. '--install aws' makes a function of Lambda that looks each "
      "five minutes and when a machine ends, '--install gcp' a job of Cloud Run that looks each "
      "five minutes, whether a computer of yours is on or not (docs/away.md). It also removes what "
      "'stoker gc' and 'stoker rm' have given up an hour ago. "
      "With "
      "--json the loop prints a line for each pass that changed something or met "
      "new trouble.";
  verb.examples = {
      "stoker controller --install",
      "stoker controller --install aws --type g5.xlarge --machines 2",
      "stoker controller --install gcp --type g2-standard-8 --unknown-prices --price 1",
      "stoker controller --once", "stoker controller --interval 5s --json"};
  verb.options = {{"WHERE",
                   "With --install and --uninstall: a cloud in which a function looks after the "
                   "jobs, instead of a timer here (aws, gcp)",
                   &options->where},
                  {"--once", "Look at all jobs once, then end", &options->once},
                  {"--install", "Install a timer that runs it every minute, or what WHERE says",
                   &options->install},
                  {"--uninstall", "Remove it", &options->uninstall},
                  {"--type",
                   "A type of machine that a function may ask for; may be repeated (of Google with "
                   "what is attached: n1-standard-8/nvidia-tesla-t4:1)",
                   &options->types, "TYPE"},
                  {"--region", "A region in which it may; may be repeated (that of the bucket)",
                   &options->regions, "REGION"},
                  {"--machines",
                   "How many machines the ledger may have at once for it to ask for "
                   "more (4)",
                   &options->machines, "N"},
                  {"--price",
                   "What one may cost, in dollars an hour (the list price of the "
                   "dearest --type)",
                   &options->price, "DOLLARS"},
                  {"--unknown-prices", "Machines of which no price is known may be asked for",
                   &options->unknown_prices},
                  {"--disk", "How many GiB of disk one may have (500)", &options->disk, "GIB"},
                  {"--identity",
                   "As what they act: of AWS the instance profile, of Google the account (that of "
                   "the settings)",
                   &options->identity, "NAME"},
                  {"-y,--yes", "Make it without asking", &options->yes},
                  {"--interval", "The time between two looks", &options->interval, "DURATION"},
                  {"-v,--verbose", "Say more about each job", &options->verbose}};
  return verb;
}

}  // namespace stoker::cli
