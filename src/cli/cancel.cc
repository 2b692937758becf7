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
#include "cli/terminal/context.h"
#include "cli/verb.h"
#include "cli/words/story.h"
#include "client/open/late_cancel.h"
#include "client/open/reserve.h"
#include "client/submit/private_env.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "node/outputs/unsaved.h"
#include "sys/file.h"
#include "sys/work_place.h"

namespace stoker::cli {
namespace {

struct CancelOptions {
  std::vector<std::string> jobs;
  bool no_wait = false;
  bool all = false;
  bool yes = false;
  std::string user;
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
  const node::Unsaved kept = node::MoveWork({sys::WorkOf(machine), state + "/" + node::kUnsaved,
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
    (void)client::LetGoOfReserve(context);
    auto asked = CancelInRecord(ledger, job, context.user());
    if (!asked.status().Is(Code::kNoSpace)) return asked;
  }
  const bool remembered = client::RememberCancel(context, ledger, job);
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

// Of one job that is to end: what was given for it, how far it is, and what came of it.
struct Cancelling {
  std::string word;
  std::string id;
  std::optional<Job> job;  // once there is nothing more to wait for
  Status failed;
  bool kept = false;  // it had ended, and its machines were kept
  MonoTime asked;
  std::optional<MonoTime> full;  // since when there is no room to note its end
  std::set<std::string> told;

  bool over() const { return job.has_value() || !failed.ok(); }
};

// Writes into the record that the job is to end.
Status Ask(Context& context, Ledger& ledger, Cancelling* one) {
  auto asked = CancelInRecord(ledger, one->id, context.user());
  if (asked.status().Is(Code::kNoSpace)) asked = AskWithoutRoom(context, ledger, one->id);
  STOKER_ASSIGN(JobRead read, std::move(asked));
  one->asked = context.clock().Mono();
  if (IsFinal(read.job.state)) {
    one->kept = KeptUntil(read.job, read.store_now).has_value();
    if (one->kept) {
      STOKER_ASSIGN(read, EndKeptInRecord(ledger, one->id, context.user()));
    }
    if (!one->kept) one->job = std::move(read.job);
  }
  return Status::Ok();
}

// A disk without room: the job ends all the same, and only that cannot be noted.
Status HeedFullDisk(Context& context, const PassResult& pass, Cancelling* one) {
  if (!pass.trouble || !pass.trouble->Is(Code::kNoSpace)) return Status::Ok();
  const MonoTime now = context.clock().Mono();
  if (!one->full) {
    one->full = now;
    context.Say("no room to note how job " + one->id + " ends: " + pass.trouble->message() +
                "; it ends all the same, within some minutes");
  }
  (void)client::LetGoOfReserve(context);
  if (AnyRuns(pass) || now - *one->full <= kForRoom) return Status::Ok();
  return pass.trouble
      ->WithContext("job " + one->id +
                    " is cancelled and its machines are gone, "
                    "but its end cannot be noted")
      .WithNext("Free some space; the next stoker command notes it then");
}

// One pass over it. What a job that failed has kept is ended by the next passes; by itself, where
// it hears of it first.
Status Look(Context& context, Controller& controller, bool wait, Cancelling* one) {
  auto pass = controller.Pass(one->id);
  if (!pass.ok()) return pass.status().transient() ? Status::Ok() : pass.status();
  const bool ended = one->kept ? !AnyRuns(*pass) : IsFinal(pass->job.state);
  if (ended || !wait) {
    one->job = std::move(pass->job);
    return Status::Ok();
  }
  if (one->kept) {
    if (context.clock().Mono() - one->asked < kForKept) return Status::Ok();
    context.Say("the machines of " + one->id +
                " end within a minute; 'stoker gc' lists what is left");
    one->job = std::move(pass->job);
    return Status::Ok();
  }
  TellTroubles(context, *pass, &one->told);
  return HeedFullDisk(context, *pass, one);
}

void Tell(Context& context, const Cancelling& one, bool alone) {
  if (!one.failed.ok()) {
    // Of one job alone it is the command's own error.
    if (!alone && !context.json) context.PrintError(one.failed);
  } else if (!context.json) {
    const Job& job = *one.job;
    context.Print(job.name + " (" + job.id + ") " + StateText(job.state, Unkept(job)) +
                  (one.kept     ? ": its machines are kept no longer"
                   : job.cancel ? ""
                                : ": nothing to cancel, it had ended already") +
                  "\n");
  }
}

// First all are written, so that none goes on because another one takes long, cannot be read, or
// this command is ended; then all are waited for together.
void CancelThem(Context& context, bool wait, std::vector<Cancelling>* all) {
  const auto fail = [&](Cancelling& one, const Status& status) {
    if (!status.ok()) one.failed = status;
    if (one.over()) Tell(context, one, all->size() == 1);
  };
  const auto ledger = context.ledger();
  const auto controller = context.controller();
  const Status opened = !ledger.ok() ? ledger.status() : controller.status();
  for (Cancelling& one : *all) {
    if (one.over()) continue;
    fail(one, opened.ok() ? Ask(context, **ledger, &one) : opened);
  }
  for (;;) {
    std::vector<std::string> left;
    for (Cancelling& one : *all) {
      if (!one.over()) fail(one, Look(context, **controller, wait, &one));
      if (!one.over()) left.push_back(one.id);
    }
    if (left.empty()) return;
    context.Progress("stopping " + Join(left, ", ") + " …");
    std::this_thread::sleep_for(std::chrono::milliseconds((*ledger)->store().traits().poll.ms));
  }
}

// Those that have ended, and whose machines are kept, each with the words for it.
// Records that cannot be read are added to `unreadable`.
Result<std::map<std::string, std::string>> AllKept(Ledger& ledger, const JobList& list,
                                                   std::vector<UnreadableJob>* unreadable) {
  // The others' machines are gone: then the marker is, too.
  STOKER_ASSIGN(const std::vector<std::string> active, ActiveJobs(ledger));
  const std::set<std::string> looked_after(active.begin(), active.end());
  std::map<std::string, std::string> kept;
  for (const Summary& job : list.jobs) {
    if (!IsFinal(job.state) || !looked_after.contains(job.id)) continue;
    const auto read = ReadJob(ledger, job.id);
    if (read.status().Is(Code::kNotFound)) continue;
    if (read.status().Is(Code::kCorrupt) || read.status().Is(Code::kTooNew)) {
      unreadable->push_back({job.id, read.status()});
      continue;
    }
    STOKER_TRY(read.status());
    if (!KeptUntil(read->job, read->store_now)) continue;
    kept[job.id] = std::string(Name(job.state)) + ", its machines are kept";
  }
  return kept;
}

struct AllJobs {
  std::vector<std::string> mine;    // ids, newest first
  std::vector<std::string> told;    // the same, in words
  std::vector<std::string> others;  // of the same user name, and perhaps of somebody else
  std::vector<std::string> others_told;
};

// The jobs that have not ended, or whose machines are kept: of this person, or of whom `user`
// names.
Result<AllJobs> FindAll(Context& context, const std::string& user) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(JobList list, ListJobs(*ledger));
  STOKER_ASSIGN(const auto kept, AllKept(*ledger, list, &list.unreadable));
  for (const UnreadableJob& job : list.unreadable) {
    context.Say("job " + job.id + " is left, whoever's it is: " + job.why.ToString());
    context.exit_code = 1;
  }
  const Person person = context.person();
  AllJobs all;
  for (const Summary& job : list.jobs) {
    const auto found = kept.find(job.id);
    if (IsFinal(job.state) && found == kept.end()) continue;
    const bool mine = user.empty() ? WhoseIs(job, person) == Whose::kMine : job.user == user;
    const std::string where =
        mine || job.user_host.empty() ? "" : " from " + Printable(job.user_host);
    const std::string more = found == kept.end() ? "" : "; " + found->second;
    const std::string words = job.name + " (" + job.id + where + more + ")";
    if (mine) {
      all.mine.push_back(job.id);
      all.told.push_back(words);
    } else if (user.empty() && job.user == person.user) {
      all.others.push_back(job.id);
      all.others_told.push_back(words);
    }
  }
  return all;
}

// A user name is no person: two machines may both have "ubuntu". Those of another id are named, and
// taken only when somebody says so.
bool TakesOthers(Context& context, const AllJobs& all) {
  if (all.others.empty()) return false;
  const bool one = all.others.size() == 1;
  const std::string name = context.user();
  context.Say((one ? "a job of the user name '" : "jobs of the user name '") + name +
              "' and another id " + (one ? "has" : "have") +
              " not ended: " + Join(all.others_told, ", "));
  if (context.Confirm("Cancel " + std::string(one ? "it" : "these") + ", too?")) return true;
  context.Say((one ? "it is" : "they are") + std::string(" left: 'stoker cancel --all --user ") +
              name + "' takes them; 'stoker config set me ID' makes another computer yours");
  context.exit_code = 1;
  return false;
}

Result<std::vector<std::string>> AllOfThem(Context& context, const CancelOptions& options) {
  auto found = FindAll(context, options.user);
  if (context.no_store_yet()) found = AllJobs();
  STOKER_ASSIGN(const AllJobs all, std::move(found));
  std::vector<std::string> ids = all.mine;
  if (ids.empty()) {
    context.Say(options.user.empty() ? "you have no job that has not ended"
                                     : Printable(options.user) + " has no job that has not ended");
  }
  const std::string asked = std::to_string(ids.size()) + " jobs: " + Join(all.told, ", ");
  if (!ids.empty() && !options.yes && !context.Confirm("Cancel " + asked + "?")) {
    return Status(Code::kUsage, "--all means " + asked, "Add --yes to cancel them");
  }
  if (TakesOthers(context, all)) ids.insert(ids.end(), all.others.begin(), all.others.end());
  return ids;
}

Result<std::vector<Cancelling>> ChosenJobs(Context& context, const CancelOptions& options) {
  const bool all = options.all || !options.user.empty();
  if (all != options.jobs.empty()) {
    return Status(Code::kUsage, all ? "both jobs and --all were given" : "no job was given",
                  "stoker cancel JOB…, or: stoker cancel --all");
  }
  std::vector<Cancelling> chosen;
  if (all) {
    STOKER_ASSIGN(const auto ids, AllOfThem(context, options));
    for (const std::string& id : ids) {
      Cancelling& one = chosen.emplace_back();
      one.word = id;
      one.id = id;
    }
    return chosen;
  }
  for (const std::string& word : options.jobs) {
    Cancelling one;
    one.word = word;
    const auto id = context.ResolveJob(word, NameMeans::kRunning);
    if (id.ok()) one.id = *id;
    one.failed = id.status();
    chosen.push_back(std::move(one));
  }
  return chosen;
}

nlohmann::json ToJson(const Cancelling& one) {
  if (one.failed.ok()) {
    return {{"id", one.job->id}, {"name", one.job->name}, {"state", Name(one.job->state)}};
  }
  return {{"id", one.id.empty() ? nlohmann::json(nullptr) : nlohmann::json(one.id)},
          {"job", one.word},
          {"error",
           {{"code", CodeName(one.failed.code())},
            {"message", one.failed.message()},
            {"next", one.failed.next()}}}};
}

Status Run(Context& context, const CancelOptions& options) {
  STOKER_ASSIGN(std::vector<Cancelling> all, ChosenJobs(context, options));
  for (const Cancelling& one : all) {
    if (one.over()) Tell(context, one, all.size() == 1);
  }
  if (!all.empty()) CancelThem(context, !options.no_wait, &all);
  client::ForgetPrivate(context);
  if (all.size() == 1 && !all[0].failed.ok()) return all[0].failed;
  nlohmann::json out = nlohmann::json::array();
  size_t failed = 0;
  for (const Cancelling& one : all) {
    out.push_back(ToJson(one));
    failed += one.failed.ok() ? 0 : 1;
  }
  if (context.json) context.Print(out.dump() + "\n");
  if (failed > 0) {
    context.exit_code = 1;
    context.Say(std::to_string(failed) + " of " + std::to_string(all.size()) +
                " jobs could not be cancelled: the errors stand above");
  }
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
      "checkpoints and outputs are kept. Of several jobs all are told first, and then waited for "
      "together until they have ended; one that cannot be cancelled keeps no other from it. Of a "
      "job that failed, it ends the machines that keep_failed keeps; so does --all. Of several "
      "jobs of one name it takes the newest that has not ended, and says so. --all takes the jobs "
      "of your id ('stoker config get me'); those of your user name and another id, it names and "
      "asks, and leaves them where there is no terminal.";
  verb.examples = {"stoker cancel digits", "stoker cancel k3f7 9w2m --no-wait",
                   "stoker cancel --all", "stoker cancel --all --user ubuntu"};
  verb.options = {
      {"JOBS", "The jobs to stop", &options->jobs, "JOB…"},
      {"-a,--all", "All your jobs that have not ended, or whose machines are kept", &options->all},
      {"--user", "All jobs of this user name instead, whoever's they are", &options->user, "NAME"},
      {"-y,--yes", "Do not ask before --all", &options->yes},
      {"--no-wait", "Return at once", &options->no_wait}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli
