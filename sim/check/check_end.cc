// SPDX-License-Identifier: Apache-2.0
// How it must end, once the faults have stopped and somebody looks.
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "job/encoding.h"
#include "ledger/index.h"
#include "policy/retry.h"
#include "reconcile/outcomes.h"
#include "sim/check/checks.h"

namespace stoker::sim {
namespace {

// everything-ends: every job ends, no machine, marker, open launch or open attempt is left, and the
// index shows what happened.
class EverythingEnds : public Observer {
 public:
  explicit EverythingEnds(World& world)
      : world_(world),
        client_(world.bucket(), world.scheduler(), world.rng(), "checker", nullptr) {}

  void OnRecord(const Job&, const Job& after, const std::string&) override {
    for (const Launch& launch : after.launches) {
      if (launch.closed) closed_.try_emplace({after.id, launch.number}, world_.now());
      // By the store's clock, which is the platform's.
      if (launch.kept_until) {
        int64_t& end = closed_[{after.id, launch.number}];
        end = std::max(end, launch.kept_until->ms - kEpochMs);
        kept_.insert({after.id, launch.number});
      }
    }
  }

  // Where somebody looks all the time, no machine is left until its limit, or for long once its
  // launch is closed.
  void OnMachineEnded(const CloudMachine& machine) override {
    const std::optional<int64_t> seldom = LooksWithin();
    if (!seldom) return;
    for (const FaultPlan& fault : world_.plan().faults) {
      if (fault.kind == "hang") return;
    }
    const std::string& job = machine.request.job;
    const bool kept = kept_.contains({job, machine.launch()});
    if (!kept && machine.why == "its limit is over")
      Breach(job, machine.id + " was left until its limit");
    const std::optional<int64_t> others = OthersClosed(machine);
    if (!others) return;
    const int64_t could = std::max({*others, CouldBeEnded(), machine.away_until});
    // What is off costs all the same, and nobody hears of it.
    const int64_t off = world_.now() - std::max(machine.stopped_at, could);
    if (machine.stopped_at > machine.powered_at && off > kLongestStop) {
      Breach(job, machine.id + " was left stopped for " + std::to_string(off / 60'000) + " min");
    }
    const auto closed = closed_.find({job, machine.launch()});
    if (closed == closed_.end()) return;
    // Whoever asked for it may have slept before that was sent (seed 500024272).
    const int64_t begun = std::max({closed->second, could, machine.made_at});
    const int64_t since = world_.now() - begun;
    if (since <= kLeftOver + *seldom + (RefusesSeals(begun) ? kUnsealed : 0)) return;
    Breach(job, machine.id + " was left for " + std::to_string(since / 60'000) +
                    " min after its launch was closed");
  }

  void OnEnd() override {
    for (const auto& [id, job] : world_.jobs()) {
      if (!IsFinal(job.state)) {
        Breach(id, "is " + std::string(Name(job.state)) + " long after the last fault");
      }
      for (const Launch& launch : job.launches) {
        if (!launch.closed) Breach(id, "launch " + std::to_string(launch.number) + " is left open");
      }
      for (const Attempt& attempt : job.attempts) {
        if (attempt.state != AttemptState::kEnded) {
          Breach(id, "attempt " + std::to_string(attempt.number) + " is left open");
        }
      }
    }
    if (world_.cloud().RunningOf(world_.number()) > 0) Breach("", "machines are left");
    for (const auto& [key, entry] : world_.bucket().objects()) {
      if (StartsWith(key, "active/")) Breach("", key + " is left");
    }
    CheckIndex();
  }

 private:
  // 0 where somebody looks all the time; where a function alone does, and its clock is reliable, as
  // long as three of its calls take. Unset: nobody is sure to look.
  std::optional<int64_t> LooksWithin() const {
    const Plan& plan = world_.plan();
    if (plan.tier == Tier::kAll) return 0;
    for (const ControllerPlan& one : plan.controllers) {
      const bool looks = one.kind == ControllerKind::kAway && one.end < 0 && one.missing == 0;
      if (looks) return 3 * (one.period + one.late);
    }
    return std::nullopt;
  }

  void Breach(const std::string& job, const std::string& what) {
    world_.Breach("everything-ends", (job.empty() ? "" : "job " + job + " ") + what, job);
  }

  void CheckIndex() {
    SimClock clock(world_.scheduler());
    auto ledger = Ledger::Open(client_, clock, 7);
    if (!ledger.ok() && world_.Happened("damaged ledger")) return;  // not restored yet
    if (!ledger.ok()) return Breach("", ledger.status().ToString());
    const auto list = ReadIndex(**ledger);
    if (!list.ok()) return Breach("", list.status().ToString());
    for (const auto& [id, record] : world_.jobs()) {
      const Job& job = record;
      const auto found = std::find_if(list->jobs.begin(), list->jobs.end(),
                                      [&](const Summary& s) { return s.id == job.id; });
      if (found == list->jobs.end()) {
        if (!world_.Happened("hidden " + id)) Breach(id, "is not in the index");
      } else if (found->state != job.state) {
        Breach(id, "is " + std::string(Name(found->state)) + " in the index");
      }
    }
  }

  // What can only be ended together waits for the last of them: others may still be saving. When
  // that was; nothing while one of them is not given up yet.
  std::optional<int64_t> OthersClosed(const CloudMachine& machine) const {
    if (world_.plan().ends_one_alone) return 0;
    int64_t last = 0;
    for (const std::string& other : machine.gang) {
      const CloudMachine* with = world_.cloud().Find(other);
      if (with == nullptr || with->id == machine.id) continue;
      const auto closed = closed_.find({machine.request.job, with->launch()});
      if (closed == closed_.end()) return std::nullopt;
      last = std::max(last, closed->second);
    }
    return last;
  }

  // Whoever may not seal its checkpoints then tries so for ten minutes, before anything else (seed
  // 6000012442).
  bool RefusesSeals(int64_t at) const {
    const auto& refusals = world_.bucket().refusals;
    return std::any_of(refusals.begin(), refusals.end(), [&](const Bucket::Refusal& no) {
      return no.writes && no.part == "/checkpoints/" && no.until > at;
    });
  }

  // Nothing can be ended while its provider is away.
  int64_t CouldBeEnded() const { return std::max(world_.plan().calm, world_.cloud().LastAway()); }

  static constexpr int64_t kLeftOver = 5 * 60'000;
  static constexpr int64_t kUnsealed = 10 * 60'000;
  static constexpr int64_t kLongestStop = 30 * 60'000;  // more than it may be asked to start

  World& world_;
  BucketClient client_;
  std::map<std::pair<std::string, int>, int64_t> closed_;
  std::set<std::pair<std::string, int>> kept_;
};

// everything-ends, also where nobody looks: a node whose end is in the store, while nobody moves
// the record and no other node works, does not keep its machine; nor does one that waits for its
// attempt to begin, where only others may look after the job.
class UselessLeaves : public Observer {
 public:
  explicit UselessLeaves(World& world) : world_(world) {}

  void OnRecord(const Job&, const Job& after, const std::string&) override {
    moved_[after.id] = world_.now();
    written_[after.id] = world_.now();
  }
  void OnChange(const BucketChange& change) override {
    if (!StartsWith(change.key, "reports/") || !change.after || change.writer.empty()) return;
    const auto report = DecodeReport(change.key, *change.after);
    if (!report.ok()) return;
    const bool ended = report->phase == NodePhase::kEnded;
    if (!ended) moved_[report->job] = world_.now();
    if (!ended && (report->phase != NodePhase::kWaiting || NodesLook())) return;
    Said& said = said_[change.key];
    // One that was cut off begins anew, and so does one that was started again.
    if (said.incarnation != report->incarnation || world_.now() - said.last > kCutOff) {
      said.first = world_.now();
    }
    said.incarnation = report->incarnation;
    said.last = world_.now();
    const int64_t since = std::max(said.first, (ended ? moved_ : written_)[report->job]);
    if (world_.now() - since > (ended ? kLongest : kLongestWait)) {
      world_.Breach("everything-ends",
                    change.key + " says for too long that its node " +
                        (ended ? "has ended" : "waits for its attempt to begin"),
                    report->job);
    }
  }

 private:
  bool NodesLook() const {
    const Tier tier = world_.plan().tier;
    return tier == Tier::kAll || tier == Tier::kAgents;
  }

  struct Said {
    std::string incarnation;
    int64_t first = 0;
    int64_t last = 0;
  };
  static constexpr int64_t kCutOff = 3 * 60'000;
  static constexpr int64_t kLongest = 22 * 60'000;
  static constexpr int64_t kLongestWait = 70 * 60'000;
  World& world_;
  std::map<std::string, int64_t> moved_;    // by job: its record, or the report of a node at work
  std::map<std::string, int64_t> written_;  // by job: its record
  std::map<std::string, Said> said_;        // by report
};

// right-result: the job ends as its program and its users made it end, whatever else went wrong.
class RightResult : public Observer {
 public:
  explicit RightResult(World& world) : world_(world) {}

  void OnProgramStarts(const ProgramView& view) override { OnStep(view); }
  void OnStep(const ProgramView& view) override {
    int& best = best_[view.job];
    best = std::max(best, view.step);
  }

  void OnEnd() override {
    for (const auto& [id, job] : world_.jobs()) {
      if (IsFinal(job.state) && job.result) Check(job);
    }
  }

 private:
  void Check(const Job& job) {
    const JobPlan& plan = *world_.PlanOf(job.id);
    const Ending& result = *job.result;
    const bool done = best_[job.id] >= plan.program.steps;
    bool right = job.state == JobState::kSucceeded && done && !SurelyBroken(plan);
    if (job.state == JobState::kCancelled) right = job.cancel.has_value();
    if (job.state == JobState::kFailed) {
      right =
          MayFail(job, plan, result) || (Damaged(job) && result.reason == EndReason::kNoProgress);
    }
    if (job.state == JobState::kSucceeded && EndsWellWhenTold(plan.program)) {
      right = done;
    }
    if (right) return;
    world_.Breach("right-result",
                  "it ends as " + std::string(Name(job.state)) + " " +
                      std::string(Name(result.reason)) + " " + std::to_string(result.exit_code) +
                      " after step " + std::to_string(best_[job.id]) + " of " +
                      std::to_string(plan.program.steps) + ": " + result.why,
                  job.id);
  }

  // Whoever trains for so long behind the step that proves it was not looked at.
  static bool SurelyBroken(const JobPlan& plan) {
    const ProgramPlan& program = plan.program;
    const int64_t behind = program.steps - program.flat_from - plan.stale_points;
    return plan.stale_points > 0 && program.flat_from >= 0 && behind * program.step_ms > kNotSeen;
  }
  static constexpr int64_t kNotSeen = 10 * 60'000;

  // What it needs could not be read for a while: machine after machine may have failed of that.
  bool Damaged(const Job& job) const {
    return world_.Happened("damaged " + job.id) || world_.Happened("damaged ledger") ||
           world_.plan().bucket.denied > 0;
  }

  bool MayFail(const Job& job, const JobPlan& plan, const Ending& result) {
    const ProgramPlan& program = plan.program;
    switch (result.reason) {
      case EndReason::kUserError: {
        if (program.setup_fails) return result.exit_code == 4;
        if (program.start_fails == StartFails::kNotFound) return result.exit_code == 127;
        if (program.start_fails == StartFails::kDenied) return result.exit_code == 126;
        if (program.start_fails == StartFails::kInvalid) return result.exit_code == 127;
        const bool crashes = program.crash_at >= 0;
        if (crashes && program.out_of_memory && result.out_of_memory) return true;
        // The survivors of a gang may be seen to fail (with 1) before the node that is the cause.
        const bool code =
            result.exit_code == program.crash_code || (plan.nodes > 1 && result.exit_code == 1);
        if (crashes && code) return true;
        // A peer that was told to stop before it had loaded what kills them saved anew: progress.
        const bool loads = program.poisoned_step >= 0 || program.resume_fails;
        const bool saved = loads && plan.nodes > 1 && SavesWhenTold(program);
        if (saved && result.exit_code == 9) return true;
        // A program that somebody else killed has failed as far as anybody can know.
        return world_.Happened("killed " + job.id) &&
               (result.signal == 9 || (plan.nodes > 1 && result.exit_code == 1));
      }
      case EndReason::kTimedOut:
        return plan.max_duration.has_value();
      case EndReason::kStoppedByRule:
        return (plan.stall && program.hang_at >= 0) || BrokenAtLast(job, plan, result);
      case EndReason::kNoProgress:
        // Nobody can train on machines that all die before the first checkpoint, nor when somebody
        // kills the program again and again before the next one.
        return Struck() >= kMostFaultsInARow || program.crash_at >= 0 || Has("full-disk") ||
               Refused() || program.checkpoint_every == 0 || program.resume_fails ||
               program.start_fails == StartFails::kMachine || world_.Happened("killed " + job.id) ||
               Has("no-way");
      case EndReason::kLaunchRefused:
        // Who did not submit the job, and may not ask for its machines, leaves that to others.
        return world_.plan().cloud.malformed > 0 || MayStayUnsettled() ||
               (world_.plan().cloud.denied > 0 && (FirstWasRefused(job) || NoneCame(job)));
      default:
        return false;
    }
  }

  // Its submitter's, then; a notice may have opened the next by that time, or a move have been
  // asked for before anybody had judged it (seed 22130025899).
  static bool FirstWasRefused(const Job& job) {
    const Attempt* first = FindAttempt(job, 1);
    if (first == nullptr || !first->ending) return false;
    if (first->ending->reason == EndReason::kLaunchRefused) return true;
    return first->ending->reason == EndReason::kMoved &&
           std::all_of(first->launches.begin(), first->launches.end(), [&](int number) {
             const Launch* launch = FindLaunch(job, number);
             return launch != nullptr && launch->close_reason == CloseReason::kRefused;
           });
  }

  // A move to nowhere may have come between (seed 1400034512).
  static bool NoneCame(const Job& job) {
    return std::all_of(job.launches.begin(), job.launches.end(),
                       [](const Launch& launch) { return launch.instance_id.empty(); });
  }

  // stop_when: not before the points that prove it, each counted once however often it was trained;
  // and what it says is what the program said. Points that were lost with a machine may make it
  // later.
  bool BrokenAtLast(const Job& job, const JobPlan& plan, const Ending& result) {
    if (plan.stale_points == 0 || plan.program.flat_from < 0) return false;
    int step = 0;
    const size_t at = result.why.rfind(" at step ");
    if (at == std::string::npos ||
        std::sscanf(result.why.c_str() + at, " at step %d", &step) != 1) {
      return false;
    }
    return step >= plan.program.flat_from + plan.stale_points && step <= best_[job.id];
  }

  // For as long as that is waited for.
  bool MayStayUnsettled() const {
    return world_.plan().cloud.unsettled > 0 && world_.plan().calm >= kConsistentWithin.ms;
  }

  static bool EndsWellWhenTold(const ProgramPlan& program) {
    return program.on_term == OnTerm::kSavesAndSucceeds ||
           program.on_term == OnTerm::kLeavesUnsaved;
  }

  static bool SavesWhenTold(const ProgramPlan& program) {
    return program.on_term == OnTerm::kSavesAndSucceeds ||
           program.on_term == OnTerm::kSavesAndFails || program.on_term == OnTerm::kPassesOn;
  }

  // Nothing new is kept, or nothing that was kept can be had.
  bool Refused() const {
    return world_.Happened("refuse-checkpoints") || world_.Happened("refuse-copies") ||
           world_.Happened("refuse-restores") || world_.Happened("refuse-room");
  }

  // How often something struck that a node may die of.
  int64_t Struck() const {
    int64_t sum = 0;
    for (const auto& [kind, times] : world_.strikes()) {
      static const std::set<std::string> kHarmless = {"cut-actor", "kill-actor", "pause-actor",
                                                      "step-clock"};
      if (kHarmless.count(kind) == 0) sum += times;
    }
    return sum;
  }

  bool Has(const std::string& fault) const {
    const auto& faults = world_.plan().faults;
    return std::any_of(faults.begin(), faults.end(),
                       [&](const FaultPlan& one) { return one.kind == fault; });
  }

  World& world_;
  std::map<std::string, int> best_;
};

}  // namespace

void AddEndChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<EverythingEnds>(world));
  checks->push_back(std::make_unique<UselessLeaves>(world));
  checks->push_back(std::make_unique<RightResult>(world));
}

}  // namespace stoker::sim
