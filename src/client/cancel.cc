// SPDX-License-Identifier: Apache-2.0
#include "client/cancel.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/text.h"
#include "client/clear/private_over.h"
#include "client/open/late_cancel.h"
#include "client/open/reserve.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "node/outputs/unsaved.h"
#include "sys/file.h"
#include "sys/work_place.h"
#include "view/facts.h"

namespace stoker::client {
namespace {

// So long a full disk is waited for once no machine of the job runs any more.
constexpr Duration kForRoom = Duration::Seconds(30);
// Who has just closed a launch gives its node a minute.
constexpr Duration kForKept = Duration::Minutes(2);
// Who does not wait for the end tries so long to make one pass over the job.
constexpr Duration kForOnePass = Duration::Minutes(1);
constexpr size_t kTokenShown = 8;

// What the program has made goes with the machine's folder as soon as somebody clears that away.
void KeepWork(Client& client, const std::string& job, const std::string& instance) {
  const std::string& state = client.places().state;
  const std::string machine = state + "/instances/" + instance;
  const std::string spare = machine + "/" + node::kSpare;
  if (!sys::FileExists(spare)) return;  // no program has run there
  const node::Unsaved kept = node::MoveWork({sys::WorkOf(machine), state + "/" + node::kUnsaved,
                                             job + "-" + instance.substr(0, kTokenShown), spare});
  if (!kept.in.empty()) {
    client.Say("job " + job + ": its work directory lies in " + kept.in +
               "; 'stoker gc' removes it when it is 30 days old");
  }
  if (!kept.status.ok()) client.Say("job " + job + ": " + kept.status.ToString());
}

// Ends the job's processes on this machine, and removes nothing of what they made.
Status HaltHere(Client& client, Ledger& ledger, const std::string& job) {
  STOKER_ASSIGN(LocalProvider * local, client.local_provider());
  STOKER_ASSIGN(const auto instances, local->Describe(ledger.id(), job));
  for (const InstanceSeen& instance : instances) {
    STOKER_TRY(local->Halt(instance.id));
    KeepWork(client, job, instance.id);
  }
  return Status::Ok();
}

// The same on a full disk: with the room that is kept back for it; and where that is not enough,
// the job ends all the same.
Result<JobRead> AskWithoutRoom(Client& client, Ledger& ledger, const std::string& job) {
  client.Say("the disk is full: giving back the room that stoker keeps for this");
  for (int tries = 0; tries < 3; ++tries) {
    (void)LetGoOfReserve(client);
    auto asked = CancelInRecord(ledger, job, client.user());
    if (!asked.status().Is(Code::kNoSpace)) return asked;
  }
  const bool remembered = RememberCancel(client, ledger, job);
  STOKER_TRY(HaltHere(client, ledger, job).WithContext("ending job " + job + " on a full disk"));
  client.Say("job " + job + ": its processes on this machine were ended at once");
  auto asked = CancelInRecord(ledger, job, client.user());
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
void TellTroubles(Client& client, const PassResult& pass, std::set<std::string>* said) {
  for (const ReportSeen& seen : pass.reports) {
    const std::string& trouble = seen.report.trouble;
    if (trouble.empty() || !said->insert(trouble).second) continue;
    client.Say("stopping " + pass.job.id + ": node " + std::to_string(seen.report.rank) + ": " +
               Printable(trouble));
  }
}

// One that was asked for, until it is over.
struct Cancelling {
  Cancelled* told = nullptr;
  MonoTime asked;
  std::optional<MonoTime> full;    // since when there is no room to note its end
  std::set<std::string> troubles;  // those that were said
};

// Writes into the record that the job is to end.
Status Ask(Client& client, Ledger& ledger, Cancelling* one) {
  auto asked = CancelInRecord(ledger, one->told->id, client.user());
  if (asked.status().Is(Code::kNoSpace)) asked = AskWithoutRoom(client, ledger, one->told->id);
  STOKER_ASSIGN(JobRead read, std::move(asked));
  one->asked = client.clock().Mono();
  if (IsFinal(read.job.state)) {
    one->told->kept = KeptUntil(read.job, read.store_now).has_value();
    if (one->told->kept) {
      STOKER_ASSIGN(read, EndKeptInRecord(ledger, one->told->id, client.user()));
    }
    if (!one->told->kept) one->told->job = std::move(read.job);
  }
  return Status::Ok();
}

// A disk without room: the job ends all the same, and only that cannot be noted.
Status HeedFullDisk(Client& client, const PassResult& pass, Cancelling* one) {
  if (!pass.trouble || !pass.trouble->Is(Code::kNoSpace)) return Status::Ok();
  const MonoTime now = client.clock().Mono();
  if (!one->full) {
    one->full = now;
    client.Say("no room to note how job " + one->told->id + " ends: " + pass.trouble->message() +
               "; it ends all the same, within some minutes");
  }
  (void)LetGoOfReserve(client);
  if (AnyRuns(pass) || now - *one->full <= kForRoom) return Status::Ok();
  return pass.trouble
      ->WithContext("job " + one->told->id +
                    " is cancelled and its machines are gone, "
                    "but its end cannot be noted")
      .WithNext("Free some space; the next stoker command notes it then");
}

// One pass over it. What a job that failed has kept is ended by the next passes; by itself, where
// it hears of it first.
Status Look(Client& client, Controller& controller, bool wait, Cancelling* one) {
  auto pass = controller.Pass(one->told->id);
  if (!pass.ok()) {
    const bool for_now = wait || client.clock().Mono() - one->asked < kForOnePass;
    if (!pass.status().transient()) return pass.status();
    if (for_now) return Status::Ok();
    return Status(pass.status().code(), pass.status().message(),
                  "The cancel is in the record: whoever looks after the job next obeys it");
  }
  const bool ended = one->told->kept ? !AnyRuns(*pass) : IsFinal(pass->job.state);
  if (ended || !wait) {
    one->told->job = std::move(pass->job);
    return Status::Ok();
  }
  if (one->told->kept) {
    if (client.clock().Mono() - one->asked < kForKept) return Status::Ok();
    client.Say("the machines of " + one->told->id +
               " end within a minute; 'stoker gc' lists what is left");
    one->told->job = std::move(pass->job);
    return Status::Ok();
  }
  TellTroubles(client, *pass, &one->troubles);
  return HeedFullDisk(client, *pass, one);
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

}  // namespace

std::vector<Cancelled> FindRunning(Client& client, const std::vector<std::string>& words) {
  std::vector<Cancelled> found;
  for (const std::string& word : words) {
    Cancelled& one = found.emplace_back();
    one.word = word;
    const auto id = client.ResolveJob(word, NameMeans::kRunning);
    if (id.ok()) one.id = *id;
    one.failed = id.status();
  }
  return found;
}

Result<AllJobs> FindAll(Client& client, const std::string& user) {
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(JobList list, ListJobs(*ledger));
  STOKER_ASSIGN(const auto kept, AllKept(*ledger, list, &list.unreadable));
  for (const UnreadableJob& job : list.unreadable) {
    client.Say("job " + job.id + " is left, whoever's it is: " + job.why.ToString());
  }
  const Person person = client.person();
  AllJobs all;
  all.unread = !list.unreadable.empty();
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

// First all are written, so that none goes on because another one takes long, cannot be read, or
// this process is ended; then all are waited for together.
void CancelJobs(Client& client, bool wait, const std::function<void(const Cancelled&)>& over,
                std::vector<Cancelled>* jobs) {
  std::vector<Cancelling> all;
  for (Cancelled& job : *jobs) {
    if (job.over()) over(job);
    if (!job.over()) all.push_back({&job, {}, {}, {}});
  }
  const auto settle = [&](Cancelling& one, const Status& status) {
    if (!status.ok()) one.told->failed = status;
    if (one.told->over()) over(*one.told);
  };
  const auto ledger = client.ledger();
  const auto controller = client.controller();
  const Status opened = !ledger.ok() ? ledger.status() : controller.status();
  for (Cancelling& one : all) settle(one, opened.ok() ? Ask(client, **ledger, &one) : opened);
  for (;;) {
    std::vector<std::string> left;
    for (Cancelling& one : all) {
      if (!one.told->over()) settle(one, Look(client, **controller, wait, &one));
      if (!one.told->over()) left.push_back(one.told->id);
    }
    if (left.empty()) break;
    client.Progress("stopping " + Join(left, ", ") + " …");
    std::this_thread::sleep_for(std::chrono::milliseconds((*ledger)->store().traits().poll.ms));
  }
  ForgetPrivate(client);
}

std::string CancelledText(const Cancelled& one) {
  const Job& job = *one.job;
  return job.name + " (" + job.id + ") " + StateText(job.state, Unkept(job)) +
         (one.kept     ? ": its machines are kept no longer"
          : job.cancel ? ""
                       : ": nothing to cancel, it had ended already");
}

}  // namespace stoker::client
