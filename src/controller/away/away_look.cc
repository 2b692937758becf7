// SPDX-License-Identifier: Apache-2.0
#include "controller/away/away_look.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "controller/all_jobs.h"
#include "controller/sweep.h"
#include "controller/teller.h"
#include "ledger/records.h"

namespace stoker {
namespace {

// Nothing new is begun when so little is left: a pass over one job asks a handful of times.
constexpr Duration kReserve = Duration::Seconds(15);
// After its time whoever runs it has ended it; the store's clock and a write on its way take some.
constexpr Duration kTurnSlack = Duration::Seconds(30);
// So long machines that were asked for count although no list shows them.
constexpr Duration kUnlisted = Duration::Minutes(10);
// After the last moment at which a request may be sent, what it has made shows within this.
constexpr Duration kAppears = Duration::Minutes(1);
// A run that is cut off has noted which job it had come to, so long before at most.
constexpr Duration kNoteEvery = Duration::Seconds(20);
// A job of which the record was changed is looked at again at once, so often.
constexpr int kMostRounds = 4;
constexpr Duration kSayIt = Duration::Seconds(5);  // what became of what was sent
constexpr size_t kMostLines = 50;                  // of each kind in a report

void Add(std::vector<std::string>* lines, std::string line) {
  if (lines->size() < kMostLines) lines->push_back(std::move(line));
}

// The note of this reconciler while it is this run's turn.
class Turn {
 public:
  Turn(Ledger& ledger, Clock& clock, std::string provider, AwayRead read)
      : ledger_(ledger),
        clock_(clock),
        provider_(std::move(provider)),
        read_(std::move(read)),
        written_(clock.Mono()) {}

  Status Take(const AwayCall& call) {
    const AwayNote& now = read_.note;
    const bool others = !now.turn.empty() && now.turn != call.id;
    if (others && read_.store_now < now.turn_until && !BugIsOn("away-turn-ignored")) {
      return Status(Code::kBusy, "another run looks after the jobs until " +
                                     FormatRfc3339(now.turn_until) + " at the latest");
    }
    read_.note.cut_off = now.turn.empty() ? 0 : std::clamp(now.cut_off, 0, 1'000) + 1;
    read_.note.turn = call.id;
    read_.note.turn_until = read_.store_now + call.left() + kTurnSlack;
    std::erase_if(read_.note.asked,
                  [&](const AwayAsked& one) { return read_.store_now - one.at > kUnlisted; });
    const Status taken = Write();
    if (taken.ok()) id_ = call.id;
    if (!taken.Is(Code::kConflict)) return taken;
    return Status(Code::kBusy, "another run was quicker to look after the jobs");
  }

  // `job` is begun. That it cannot be noted, Finish says.
  void Reach(const std::string& job) {
    read_.note.after = job;
    if (clock_.Mono() - written_ >= kNoteEvery) (void)Write();
  }

  Status Keep(const std::string& what, int machines) {
    auto& asked = read_.note.asked;
    std::erase_if(asked, [&](const AwayAsked& one) { return one.what == what; });
    asked.push_back({what, machines, read_.store_now});
    return Write().WithContext("noting what is about to be asked for");
  }

  void Drop(const std::string& what) {
    std::erase_if(read_.note.asked, [&](const AwayAsked& one) { return one.what == what; });
  }

  Status Finish(const AwayCall& call, const AwayReport& report, bool looked) {
    AwayNote& note = read_.note;
    note.turn.clear();
    note.cut_off = 0;
    note.version = call.version;
    if (looked) note.looked = read_.store_now;
    if (report.swept) note.swept = read_.store_now;
    if (report.after) note.after = *report.after;
    note.did = Told(report);
    return Write();
  }

  const AwayRead& read() const { return read_; }

 private:
  Status Write() {
    written_ = clock_.Mono();
    if (BugIsOn("away-turn-ignored")) {
      STOKER_ASSIGN(const AwayRead newest, ReadAway(ledger_, provider_));
      read_.version = newest.version;
    }
    auto written = WriteAway(ledger_, provider_, read_);
    for (int time = 0; written.status().Is(Code::kConflict) && time < 3; ++time) {
      // An --install has noted something, and it is this run's turn all the same?
      STOKER_ASSIGN(const AwayRead newest, ReadAway(ledger_, provider_));
      if (id_.empty() || newest.note.turn != id_) break;
      read_.note.installed = newest.note.installed;
      read_.note.where = newest.note.where;
      read_.note.bound = newest.note.bound;
      read_.version = newest.version;
      read_.store_now = newest.store_now;
      written = WriteAway(ledger_, provider_, read_);
    }
    STOKER_ASSIGN(read_, std::move(written));
    return Status::Ok();
  }

  Ledger& ledger_;
  Clock& clock_;
  const std::string provider_;
  std::string id_;  // of this run, once it is its turn
  AwayRead read_;
  MonoTime written_;
};

// The job of a machine of this ledger; "" = the provider knows of none such.
Result<std::string> JobOf(Ledger& ledger, Provider& machines, const std::string& instance) {
  STOKER_ASSIGN(const InstancesSeen seen, machines.Describe(ledger.id(), ""));
  for (const InstanceSeen& one : seen) {
    if (one.id == instance && IsSafeName(one.job)) return one.job;
  }
  STOKER_TRY(seen.Whole());
  return std::string();
}

// Who was told so may not have it; another may have got it a moment before, and its answer is on
// the way (seed 45001135747). Lists show it soon.
bool IsDeniedToOne(const Request& request, WallTime now) {
  return request.refusal->what == RefusalClass::kDenied && request.tries > 1 &&
         now < request.opened + kAppears;
}

// Of `job`, at `provider`: what is there or was asked for, and no record says is gone. A request
// that is past its time, and of which no machine has come, has none.
void AddRecorded(const JobRead& read, const std::string& provider,
                 std::vector<AwayRecorded>* recorded) {
  for (const Launch& launch : read.job.launches) {
    const Request& request = RequestOf(read.job, launch);
    if (launch.closed || request.ask.place.provider != provider) continue;
    const bool open = request.tries > 0 && read.store_now < request.not_after + kAppears;
    const bool sent = open && (!request.refusal || IsDeniedToOne(request, read.store_now));
    if (launch.instance_id.empty() && !sent) continue;
    recorded->push_back({AskedKey(read.job.id, request.ask.place, request.token), launch.index});
  }
}

// What the records of all active jobs tell of machines, read when it is first asked for: once in a
// run, and again of a job that was looked at, whose lost machines are no longer there for others.
// Those that make no sense tell nothing: whoever can write them could say anything. Of those that
// the store does not give now nothing is known.
class Recorded {
 public:
  Recorded(Ledger& ledger, std::string provider)
      : ledger_(ledger), provider_(std::move(provider)) {}

  Result<std::vector<AwayRecorded>> All() {
    if (!by_job_) STOKER_TRY(ReadAll());
    std::vector<AwayRecorded> all;
    for (const auto& [job, its] : *by_job_) all.insert(all.end(), its.begin(), its.end());
    return all;
  }
  void Changed(const std::string& job) {
    if (by_job_ && !Read(job, &*by_job_).ok()) by_job_.reset();
  }
  void Drop(const std::string& what) {
    if (!by_job_) return;
    for (auto& [job, its] : *by_job_) {
      std::erase_if(its, [&](const AwayRecorded& one) { return one.what == what; });
    }
  }

 private:
  using ByJob = std::map<std::string, std::vector<AwayRecorded>>;

  Status ReadAll() {
    ByJob all;
    STOKER_ASSIGN(const std::vector<std::string> ids, ActiveJobs(ledger_));
    for (const std::string& id : ids) STOKER_TRY(Read(id, &all));
    by_job_ = std::move(all);
    return Status::Ok();
  }
  Status Read(const std::string& id, ByJob* all) {
    const auto read = ReadJob(ledger_, id);
    if (read.status().transient()) return read.status();
    std::vector<AwayRecorded>& its = (*all)[id];
    its.clear();
    if (read.ok()) AddRecorded(*read, provider_, &its);
    return Status::Ok();
  }

  Ledger& ledger_;
  const std::string provider_;
  std::optional<ByJob> by_job_;
};

class Run {
 public:
  Run(Ledger& ledger, Controller& controller, Recorded& recorded, const AwayCall& call,
      AwayReport* report)
      : ledger_(ledger),
        controller_(controller),
        recorded_(recorded),
        call_(call),
        report_(*report) {}

  bool Enough() const { return call_.left() < kReserve; }

  // Those first that a run before had no time for: whatever a look costs, each job has its turn.
  Status All(const std::string& after, const std::function<void(const std::string&)>& begins) {
    int seen = 0;
    std::string last = after;
    STOKER_ASSIGN(const AllJobsResult result,
                  PassAll(
                      ledger_, controller_,
                      [&](const std::string& id, const Result<PassResult>& pass) {
                        ++seen;
                        last = id;
                        Take(id, pass);
                        if (pass.ok() && pass->changed) Again(id);
                      },
                      [&](const std::string& next) {
                        if (Enough()) return true;
                        begins(next);
                        return false;
                      },
                      after));
    report_.what = "all jobs";
    report_.active = result.active;
    report_.left = result.active - seen;
    report_.after = report_.left > 0 ? last : "";
    return Status::Ok();
  }

  void One(const std::string& id) {
    report_.what = "job " + id;
    report_.active = 1;
    const auto pass = controller_.Pass(id);
    Take(id, pass);
    if (pass.ok() && pass->changed) Again(id);
  }

 private:
  // What a decision needs next is often another look, and the next run is minutes away.
  void Again(const std::string& id) {
    for (int round = 1; round < kMostRounds && !Enough(); ++round) {
      const auto pass = controller_.Pass(id);
      --report_.passed;  // the same job
      Take(id, pass);
      if (!pass.ok() || !pass->changed) return;
    }
  }

  void Take(const std::string& id, const Result<PassResult>& pass) {
    if (!pass.ok()) return Add(&report_.troubles, id + ": " + pass.status().ToString());
    ++report_.passed;
    if (pass->trouble) Add(&report_.troubles, id + ": " + pass->trouble->ToString());
    if (!pass->changed) return;
    ++report_.changed;
    recorded_.Changed(id);
    for (const std::string& note : pass->notes) Add(&report_.notes, id + ": " + Printable(note));
  }

  Ledger& ledger_;
  Controller& controller_;
  Recorded& recorded_;
  const AwayCall& call_;
  AwayReport& report_;
};

// Where the looks go on. Where two runs in a row were cut off, a job that they had come to may be
// why, and others are to have their turn: anywhere.
std::string FirstBehind(Ledger& ledger, const AwayRead& read) {
  if (read.note.cut_off < 2) return read.note.after;
  const auto ids = ActiveJobs(ledger);
  if (!ids.ok() || ids->empty()) return read.note.after;
  const auto number = static_cast<uint64_t>(read.store_now.ms / 1000);
  return (*ids)[number % ids->size()];
}

void SweepNow(Ledger& ledger, Broker& broker, AwayReport* report) {
  const auto swept = SweepProvider(ledger, broker, {});
  if (!swept.ok()) return Add(&report->troubles, "the sweep: " + swept.status().ToString());
  report->swept = true;
  for (const auto* list : {&swept->troubles, &swept->forbidden}) {
    for (const std::string& trouble : *list) Add(&report->troubles, "the sweep: " + trouble);
  }
  for (const Swept& one : swept->things) {
    if (one.over.empty()) continue;
    const std::string what = one.thing.id + " in " + one.thing.place.region + ": " + one.over;
    if (one.ended.ok()) {
      Add(&report->ended, what);
    } else {
      Add(&report->troubles, what + ", and stays: " + one.ended.ToString());
    }
  }
}

}  // namespace

Result<AwayReport> LookAway(Ledger& ledger, Broker& broker, Clock& clock, const AwayCall& call) {
  const std::string provider = broker.traits().name;
  STOKER_ASSIGN(Provider * machines, broker.Machines());
  STOKER_ASSIGN(AwayRead before, ReadAway(ledger, provider));
  AwayReport report;
  std::string job;
  if (!call.instance.empty()) {
    const bool pauses = before.store_now - before.note.looked < kAwayEventPause;
    const auto found = JobOf(ledger, *machines, call.instance);
    if (pauses || !found.status().transient()) {
      STOKER_ASSIGN(job, found);
    } else {
      // It may be of the place that does not answer: a look at all jobs sees to it, too.
      Add(&report.troubles,
          "whose " + Printable(call.instance) + " is: " + found.status().ToString());
    }
    if (job.empty() && pauses) {
      report.what = "nothing: " + Printable(call.instance) + " is not of this ledger";
      return report;
    }
  }
  Turn turn(ledger, clock, provider, std::move(before));
  STOKER_TRY(turn.Take(call));
  BoundUse use;
  use.bound = call.bound;
  use.store_url = ledger.store().url();
  use.understand = call.understand;
  use.now = [&turn] { return turn.read().store_now; };
  use.asked_before = [&turn] { return turn.read().note.asked; };
  use.keep = [&turn](const std::string& what, int count) { return turn.Keep(what, count); };
  Recorded recorded(ledger, provider);
  use.recorded = [&recorded] { return recorded.All(); };
  use.drop = [&](const std::string& what) {
    turn.Drop(what);
    recorded.Drop(what);
  };
  const auto bound = BindProvider(*machines, ledger.id(), std::move(use));
  Controller controller(
      ledger,
      [&](const std::string& name) -> Result<Provider*> {
        return name == provider ? bound.get() : nullptr;
      },
      clock);
  controller.AsksOnly(provider, Controller::From::kAway);
  controller.KeepQuietNodes(true);
  if (call.notifier != nullptr) {
    controller.TellThrough(*call.notifier, [&call] { return call.left() < kSendTakes + kSayIt; });
  }
  Run run(ledger, controller, recorded, call, &report);
  const AwayNote& note = turn.read().note;
  const auto sweep = [&] {
    const bool due = turn.read().store_now - note.swept >= kAwaySweepEvery;
    if (due && !report.swept && !run.Enough()) SweepNow(ledger, broker, &report);
  };
  const std::string after = FirstBehind(ledger, turn.read());
  if (note.cut_off > 0) {
    Add(&report.troubles, "the run before was cut off in its middle; this one begins behind " +
                              (after.empty() ? "no job" : Printable(after)));
  }
  // Looks that take all the time that there is would leave none for it; nor may it take theirs.
  if (!note.after.empty() && note.cut_off == 0) sweep();
  Status looked;
  if (job.empty()) {
    looked = run.All(after, [&turn](const std::string& next) { turn.Reach(next); });
  } else {
    run.One(job);
  }
  if (!looked.ok()) Add(&report.troubles, looked.ToString());
  sweep();
  STOKER_TRY(turn.Finish(call, report, looked.ok() && job.empty()));
  STOKER_TRY(looked);
  return report;
}

std::string Told(const AwayReport& report) {
  std::string text = report.what;
  if (report.active > 0) {
    text += ": " + std::to_string(report.passed) + " of " + std::to_string(report.active) +
            " looked at, " + std::to_string(report.changed) + " changed";
  }
  if (report.left > 0)
    text += ", " + std::to_string(report.left) +
            " left, with which the next run begins: the time was over";
  if (report.swept) text += "; a sweep ended " + std::to_string(report.ended.size());
  if (!report.troubles.empty()) {
    text += "; " + std::to_string(report.troubles.size()) +
            " troubles, the first: " + CutText(report.troubles.front(), 300);
  }
  return text;
}

}  // namespace stoker
