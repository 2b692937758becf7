// SPDX-License-Identifier: Apache-2.0
// Machines of jobs that failed, which somebody may want to look at.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "job/encoding.h"
#include "sim/check/checks.h"

namespace stoker::sim {
namespace {

// kept: of a job that failed by itself, and asks for it, the machines on which it failed stay until
// their time is over: nobody of ours ends them before, neither they themselves nor whoever looks.
// No others stay, and none for longer than was asked for. (That they end: everything-ends.)
class KeptForAWhile : public Observer {
 public:
  explicit KeptForAWhile(World& world) : world_(world) {}

  void OnChange(const BucketChange& change) override {
    if (!StartsWith(change.key, "reports/") || !change.after || change.writer.empty()) return;
    const auto report = DecodeReport(change.key, *change.after);
    if (report.ok()) heard_.try_emplace({report->job, report->launch}, world_.now());
  }

  void OnRecord(const Job& before, const Job& after, const std::string& writer) override {
    for (const Launch& launch : after.launches) {
      const Launch* was = FindLaunch(before, launch.number);
      if (was == nullptr || (was->closed && !was->kept_until)) continue;
      if (launch.kept_until) {
        CheckKept(after, *was, launch, writer);
        until_[{after.id, launch.number}] = launch.kept_until->ms - kEpochMs;
      } else if (launch.closed && after.state == JobState::kFailed) {
        CheckLetGo(after, launch, writer);
      }
    }
  }

  void OnTerminating(const CloudMachine& machine, const std::string& process) override {
    if (machine.state != InstanceState::kGone) CheckEnd(machine, process + " ends ", 0);
  }
  void OnMachineEnded(const CloudMachine& machine) override {
    const bool itself =
        StartsWith(machine.why, "powered off") || machine.why == "its limit is over";
    // It sets its end by a clock that must not leap meanwhile, nor it sleep over it, and does not
    // stay where it cannot read what for (seeds 500018997, 500080728, 500001312,
    // 700160501).
    if (world_.Happened("clock of " + machine.id + " stepped")) return;
    if (world_.Happened("damaged ledger")) return;
    if (world_.Happened("damaged " + machine.request.job)) return;
    if (itself) CheckEnd(machine, machine.why + ": this ends ", kReading);
  }

 private:
  void Breach(const std::string& job, const std::string& what) { world_.Breach("kept", what, job); }

  void CheckKept(const Job& job, const Launch& was, const Launch& launch,
                 const std::string& writer) {
    const std::string name =
        writer + " keeps the machine of launch " + std::to_string(launch.number);
    const auto& wanted = world_.PlanOf(job.id)->keep_failed;
    if (job.state != JobState::kFailed || job.cancel || !wanted) {
      return Breach(job.id, name + " of a job that is not to keep any");
    }
    const WallTime last = was.kept_until ? *was.kept_until : world_.bucket().Now() + *wanted;
    if (*launch.kept_until > last) Breach(job.id, name + " for longer than was asked for");
  }

  // One that has reported, and that the attempt which failed had.
  void CheckLetGo(const Job& job, const Launch& launch, const std::string& writer) {
    if (!world_.PlanOf(job.id)->keep_failed || job.cancel) return;
    // Of some of its machines it may not have been known that they have come.
    if (job.result && job.result->reason == EndReason::kLaunchRefused) return;
    if (launch.close_reason != CloseReason::kDone || world_.Happened("damaged " + job.id) ||
        world_.Happened("damaged ledger")) {
      return;
    }
    const Attempt* failed = NewestNeeded(job);
    const auto heard = heard_.find({job.id, launch.number});
    if (failed == nullptr || heard == heard_.end()) return;
    if (world_.now() - heard->second < kUnread) return;
    const auto& its = failed->launches;
    if (std::find(its.begin(), its.end(), launch.number) == its.end()) return;
    for (const auto& [id, machine] : world_.cloud().machines()) {
      if (machine.owner != world_.number() || machine.request.job != job.id) continue;
      if (machine.launch() != launch.number || machine.state != InstanceState::kRunning) continue;
      // It came up anew, or for the first time after it had been stopped, or its platform's lists
      // did not have it yet (seed 500024902).
      if (machine.boots > 1 || machine.stopped_at >= 0) continue;
      Breach(job.id, writer + " lets " + id + " go, on which the job failed");
    }
  }

  void CheckEnd(const CloudMachine& machine, const std::string& what, int64_t slack) {
    if (machine.owner != world_.number()) return;
    const auto until = until_.find({machine.request.job, machine.launch()});
    if (until == until_.end() || world_.now() + slack >= until->second) return;
    Breach(machine.request.job, what + machine.id + ", which is kept for " +
                                    std::to_string((until->second - world_.now()) / 1000) +
                                    " s more");
  }

  // What it takes to read the time of the store, by which a node sets its end, and to try again
  // (seed 800035187: 93 s).
  static constexpr int64_t kReading = 150'000;
  static constexpr int64_t kUnread = 5'000;
  World& world_;
  std::map<std::pair<std::string, int>, int64_t> heard_;  // first
  std::map<std::pair<std::string, int>, int64_t> until_;
};

}  // namespace

void AddKeptChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<KeptForAWhile>(world));
}

}  // namespace stoker::sim
