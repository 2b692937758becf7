// SPDX-License-Identifier: Apache-2.0
#include "controller/away/away_look.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "controller/all_jobs.h"
#include "controller/away/away_recorded.h"
#include "controller/away/away_turn.h"
#include "controller/sweep.h"
#include "controller/teller.h"
#include "ledger/records.h"

namespace stoker {
namespace {

// Nothing new is begun when so little is left: a pass over one job asks a handful of times.
constexpr Duration kReserve = Duration::Seconds(15);
// A job of which the record was changed is looked at again at once, so often.
constexpr int kMostRounds = 4;
constexpr Duration kSayIt = Duration::Seconds(5);  // what became of what was sent
constexpr size_t kMostLines = 50;                  // of each kind in a report

void Add(std::vector<std::string>* lines, std::string line) {
  if (lines->size() < kMostLines) lines->push_back(std::move(line));
}

// The job of a machine of this ledger; "" = the provider knows of none such.
Result<std::string> JobOf(Ledger& ledger, Provider& machines, const std::string& instance) {
  STOKER_ASSIGN(const InstancesSeen seen, machines.Describe(ledger.id(), ""));
  for (const InstanceSeen& one : seen) {
    if (one.id == instance && IsSafeName(one.job)) return one.job;
  }
  STOKER_TRY(seen.Whole());
  return std::string();
}

class Run {
 public:
  Run(Ledger& ledger, Controller& controller, const AwayCall& call, AwayReport* report)
      : ledger_(ledger), controller_(controller), call_(call), report_(*report) {}

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
    for (const std::string& note : pass->notes) Add(&report_.notes, id + ": " + Printable(note));
  }

  Ledger& ledger_;
  Controller& controller_;
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

// The job that the call is about; "" = all of them. Unset: there is nothing to do.
Result<std::optional<std::string>> JobOfEvent(Ledger& ledger, Provider& machines,
                                              const AwayRead& before, const AwayCall& call,
                                              AwayReport* report) {
  if (call.instance.empty()) return std::optional<std::string>("");
  const bool pauses = before.store_now - before.note.looked < kAwayEventPause;
  auto found = JobOf(ledger, machines, call.instance);
  if (!pauses && found.status().transient()) {
    // It may be of the place that does not answer: a look at all jobs sees to it, too.
    Add(&report->troubles,
        "whose " + Printable(call.instance) + " is: " + found.status().ToString());
    return std::optional<std::string>("");
  }
  STOKER_ASSIGN(std::string job, std::move(found));
  if (!job.empty() || !pauses) return std::optional<std::string>(std::move(job));
  report->what = "nothing: " + Printable(call.instance) + " is not of this ledger";
  return std::optional<std::string>();
}

}  // namespace

Result<AwayReport> LookAway(Ledger& ledger, Broker& broker, Clock& clock, const AwayCall& call) {
  const std::string provider = broker.traits().name;
  STOKER_ASSIGN(Provider * machines, broker.Machines());
  STOKER_ASSIGN(AwayRead before, ReadAway(ledger, provider));
  AwayReport report;
  STOKER_ASSIGN(const std::optional<std::string> its,
                JobOfEvent(ledger, *machines, before, call, &report));
  if (!its) return report;
  const std::string& job = *its;
  AwayTurn turn(ledger, clock, provider, std::move(before));
  STOKER_TRY(turn.Take(call));
  BoundUse use;
  use.bound = call.bound;
  use.store_url = ledger.store().url();
  use.understand = call.understand;
  use.now = [&turn] { return turn.read().store_now; };
  use.asked_before = [&turn] { return turn.read().note.asked; };
  use.keep = [&turn](const std::string& what, int count) { return turn.Keep(what, count); };
  RecordedMachines recorded(ledger, provider);
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
  Run run(ledger, controller, call, &report);
  const AwayNote& note = turn.read().note;
  const auto sweep = [&] {
    const bool due = turn.read().store_now - note.swept >= kAwaySweepEvery;
    if (due && !report.swept && !run.Enough()) SweepNow(ledger, broker, &report);
  };
  const std::string after = FirstBehind(ledger, turn.read());
  if (note.cut_off > 0 && job.empty()) {
    Add(&report.troubles, "a run before was cut off in its middle; this one begins behind " +
                              (after.empty() ? "no job" : Printable(after)));
  }
  // Looks that take all the time that there is would leave none for it; nor may it take
  // theirs, though what is expired is ended also while each run is cut off.
  if (!note.after.empty() && (note.cut_off == 0 || note.cut_off % 4 == 3)) sweep();
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
