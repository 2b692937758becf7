// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "cli/confirm.h"
#include "cli/context.h"
#include "cli/late_cancel.h"
#include "cli/private_env.h"
#include "cli/reserve.h"
#include "cli/story.h"
#include "cli/verb.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "node/outputs/unsaved.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

struct CancelOptions {
  std::vector<std::string> jobs;
  bool no_wait = false;
  bool all = false;
  bool yes = false;
};

// So long a full disk is waited for once no machine of the job runs any more.
constexpr Duration kForRoom = Duration::Seconds(30);
// Who has just closed a launch gives its node a minute.
constexpr Duration kForKept = Duration::Minutes(2);
constexpr size_t kTokenShown = 8;

// What the program has made goes with the machine's folder as soon as somebody clears that away.
void KeepWork(Context& context, const std::string& job, const std::string& instance) {
  const std::string& state = context.places().state;
  const std::string machine = state + "/instances/" + instance;
  const std::string spare = machine + "/" + node::kSpare;
  if (!sys::FileExists(spare)) return;  // no program has run there
  const node::Unsaved kept = node::MoveWork({machine + "/work", state + "/" + node::kUnsaved,
                                             job + "-" + instance.substr(0, kTokenShown), spare});
  if (!kept.in.empty()) {
    context.Say("job " + job + ": its work directory lies in " + kept.in +
                "; 'stoker gc' removes it when it is 30 days old");
  }
  if (!kept.status.ok()) context.Say("job " + job + ": " + kept.status.ToString());
}

// Ends the job's processes on this machine, and removes nothing of what they made.
Status HaltHere(Context& context, Ledger& ledger, const std::string& job) {
  STOKER_ASSIGN(LocalProvider * local, context.local_provider());
  STOKER_ASSIGN(const auto instances, local->Describe(ledger.id(), job));
  for (const InstanceSeen& instance : instances) {
    STOKER_TRY(local->Halt(instance.id));
    KeepWork(context, job, instance.id);
  }
  return Status::Ok();
}

// The same on a full disk: with the room that is kept back for it; and where that is not enough,
// the job ends all the same.
Result<JobRead> AskWithoutRoom(Context& context, Ledger& ledger, const std::string& job) {
  context.Say("the disk is full: giving back the room that stoker keeps for this");
  for (int tries = 0; tries < 3; ++tries) {
    (void)LetGoOfReserve(context);
    auto asked = CancelInRecord(ledger, job, context.user());
    if (!asked.status().Is(Code::kNoSpace)) return asked;
  }
  const bool remembered = RememberCancel(context, ledger, job);
  STOKER_TRY(HaltHere(context, ledger, job).WithContext("ending job " + job + " on a full disk"));
  context.Say("job " + job + ": its processes on this machine were ended at once");
  auto asked = CancelInRecord(ledger, job, context.user());
  if (!asked.status().Is(Code::kNoSpace)) return asked;
  return Status(Code::kNoSpace,
                "job " + job +
                    ": its processes on this machine are ended, but there is no room to note that "
                    "it is cancelled: " +
                    asked.status().message(),
                remembered ? "Free some space; the next stoker command on this machine notes it"
                           : "Free some space and give the command again: until then the job "
                             "starts once more as soon as there is room");
}

bool AnyRuns(const PassResult& pass) {
  return std::any_of(pass.machines.begin(), pass.machines.end(), [](const MachineSeen& machine) {
    return machine.state != MachineState::kGone;
  });
}

// What keeps its nodes from ending, each once.
void TellTroubles(Context& context, const PassResult& pass, std::set<std::string>* told) {
  for (const ReportSeen& seen : pass.reports) {
    const std::string& trouble = seen.report.trouble;
    if (trouble.empty() || !told->insert(trouble).second) continue;
    context.Say("stopping " + pass.job.id + ": node " + std::to_string(seen.report.rank) + ": " +
                Printable(trouble));
  }
}

// What a job that failed has kept is ended by the next passes; by itself, where it hears of it
// first.
Result<Job> EndKept(Context& context, Ledger& ledger, Controller& controller, const Job& job,
                    bool wait) {
  STOKER_ASSIGN(const JobRead read, EndKeptInRecord(ledger, job.id, context.user()));
  const MonoTime end = context.clock().Mono() + kForKept;
  for (;;) {
    const auto pass = controller.Pass(job.id);
    if (!pass.ok() && !pass.status().transient()) return pass.status();
    if (!wait || (pass.ok() && !AnyRuns(*pass))) return read.job;
    if (context.clock().Mono() >= end) {
      context.Say("its machines end within a minute; 'stoker gc' lists what is left");
      return read.job;
    }
    context.Progress("ending the machines of " + job.id + " …");
    std::this_thread::sleep_for(std::chrono::milliseconds(ledger.store().traits().poll.ms));
  }
}

// Reconciles until the job has ended.
Result<Job> Cancel(Context& context, const std::string& job, bool wait, bool* kept) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(Controller * controller, context.controller());
  auto asked = CancelInRecord(*ledger, job, context.user());
  if (asked.status().Is(Code::kNoSpace)) asked = AskWithoutRoom(context, *ledger, job);
  STOKER_ASSIGN(const JobRead read, std::move(asked));
  if (IsFinal(read.job.state) && KeptUntil(read.job, read.store_now)) {
    *kept = true;
    return EndKept(context, *ledger, *controller, read.job, wait);
  }
  if (IsFinal(read.job.state)) return read.job;
  std::optional<MonoTime> full;
  std::set<std::string> told;
  for (;;) {
    const auto pass = controller->Pass(job);
    if (!pass.ok() && !pass.status().transient()) return pass.status();
    if (pass.ok() && (IsFinal(pass->job.state) || !wait)) return pass->job;
    if (pass.ok()) TellTroubles(context, *pass, &told);
    if (pass.ok() && pass->trouble && pass->trouble->Is(Code::kNoSpace)) {
      const MonoTime now = context.clock().Mono();
      if (!full)
        context.Say("no room to note how job " + job + " ends: " + pass->trouble->message() +
                    "; it ends all the same, within some minutes");
      if (!full) full = now;
      (void)LetGoOfReserve(context);
      if (!AnyRuns(*pass) && now - *full > kForRoom) {
        return pass->trouble
            ->WithContext("job " + job +
                          " is cancelled and its machines are gone, "
                          "but its end cannot be noted")
            .WithNext("Free some space; the next stoker command notes it then");
      }
    }
    context.Progress("stopping " + job + " …");
    std::this_thread::sleep_for(std::chrono::milliseconds(ledger->store().traits().poll.ms));
  }
}

// Those that have ended, and whose machines are kept, each with the words for it.
Result<std::map<std::string, std::string>> AllKept(Ledger& ledger, const JobList& list) {
  // The others' machines are gone: then the marker is, too.
  STOKER_ASSIGN(const std::vector<std::string> active, ActiveJobs(ledger));
  const std::set<std::string> looked_after(active.begin(), active.end());
  std::map<std::string, std::string> kept;
  for (const Summary& job : list.jobs) {
    if (!IsFinal(job.state) || !looked_after.contains(job.id)) continue;
    const auto read = ReadJob(ledger, job.id);
    if (read.status().Is(Code::kNotFound)) continue;
    STOKER_TRY(read.status());
    if (!KeptUntil(read->job, read->store_now)) continue;
    kept[job.id] = std::string(Name(job.state)) + ", its machines are kept";
  }
  return kept;
}

// All jobs of this user that have not ended, or whose machines are kept, newest first.
Result<std::vector<std::string>> AllOfMine(Context& context, const CancelOptions& options) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const JobList list, ListJobs(*ledger));
  STOKER_ASSIGN(const auto kept, AllKept(*ledger, list));
  std::vector<std::string> ids;
  std::vector<std::string> told;
  for (const Summary& job : list.jobs) {
    const auto found = kept.find(job.id);
    if (job.user != context.user() || (IsFinal(job.state) && found == kept.end())) continue;
    ids.push_back(job.id);
    const std::string more = found == kept.end() ? "" : "; " + found->second;
    told.push_back(job.name + " (" + job.id + more + ")");
  }
  if (ids.empty()) context.Say("you have no job that has not ended");
  if (ids.empty() || options.yes) return ids;
  const std::string all = std::to_string(ids.size()) + " jobs: " + Join(told, ", ");
  if (Confirm(context, "Cancel " + all + "?")) return ids;
  return Status(Code::kUsage, "--all means " + all, "Add --yes to cancel them");
}

Result<std::vector<std::string>> ChosenJobs(Context& context, const CancelOptions& options) {
  if (options.all && options.jobs.empty()) return AllOfMine(context, options);
  if (options.all || options.jobs.empty()) {
    return Status(Code::kUsage, options.all ? "both jobs and --all were given" : "no job was given",
                  "stoker cancel JOB…, or: stoker cancel --all");
  }
  std::vector<std::string> ids;
  for (const std::string& word : options.jobs) {
    STOKER_ASSIGN(ids.emplace_back(), context.ResolveJob(word, NameMeans::kRunning));
  }
  return ids;
}

Status Run(Context& context, const CancelOptions& options) {
  nlohmann::json all = nlohmann::json::array();
  STOKER_ASSIGN(const std::vector<std::string> ids, ChosenJobs(context, options));
  for (const std::string& id : ids) {
    bool kept = false;  // it had ended, and its machines were kept
    STOKER_ASSIGN(const Job job, Cancel(context, id, !options.no_wait, &kept));
    all.push_back({{"id", job.id}, {"name", job.name}, {"state", Name(job.state)}});
    if (!context.json) {
      context.Print(job.name + " (" + job.id + ") " + StateText(job.state, Unkept(job)) +
                    (kept         ? ": its machines are kept no longer"
                     : job.cancel ? ""
                                  : ": nothing to cancel, it had ended already") +
                    "\n");
    }
  }
  ForgetPrivate(context);
  if (context.json) context.Print(all.dump() + "\n");
  return Status::Ok();
}

}  // namespace

Verb CancelVerb() {
  auto options = std::make_shared<CancelOptions>();
  Verb verb;
  verb.name = "cancel";
  verb.summary = "Stop jobs; their logs and checkpoints are kept";
  verb.description =
      "Stops jobs. The program gets SIGTERM, and SIGKILL once stop_grace has passed; its logs, "
      "checkpoints and outputs are kept. Waits until the jobs have ended. Of a job that failed, it "
      "ends the machines that keep_failed keeps; so does --all. Of several jobs of one "
      "name it takes the newest that has not ended, and says so.";
  verb.examples = {"stoker cancel digits", "stoker cancel k3f7 9w2m --no-wait",
                   "stoker cancel --all"};
  verb.options = {
      {"JOBS", "The jobs to stop", &options->jobs, "JOB…"},
      {"-a,--all", "All your jobs that have not ended, or whose machines are kept", &options->all},
      {"-y,--yes", "Do not ask before --all", &options->yes},
      {"--no-wait", "Return at once", &options->no_wait}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
