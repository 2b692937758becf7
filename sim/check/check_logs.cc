// SPDX-License-Identifier: Apache-2.0
// Lines of programs that ended.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "job/encoding.h"
#include "ledger/log/log_reader.h"
#include "ledger/paths.h"
#include "sim/check/checks.h"

namespace stoker::sim {
namespace {

// every-line: when a node reports its part ended, each line that its program wrote is in the store,
// once and in order. Unless its disk was full: then lines are lost, counted and said as soon as
// there is room; or a segment was damaged in the store: then the log says so where it is missing;
// or the time to save after a cancel (kSaveAfterCancel) was over: then its report does.
class EveryLine : public Observer {
 public:
  explicit EveryLine(World& world)
      : world_(world),
        client_(world.bucket(), world.scheduler(), world.rng(), "checker", nullptr) {}

  void OnStep(const ProgramView& view) override {
    steps_[{view.job, view.attempt, view.rank}].push_back(view.step);
  }
  void OnMachineEnded(const CloudMachine& machine) override { gone_.insert(machine.id); }

  void OnEnd() override {
    if (!world_.plan().logs) return;
    for (const auto& [id, job] : world_.jobs()) {
      auto reader = LogReader::Open(client_, id);
      if (!reader.ok()) continue;
      Lines lines;
      for (;;) {
        const auto records = (*reader)->Next();
        if (!records.ok()) {
          return world_.Breach("every-line", records.status().ToString(), id);
        }
        if (records->empty()) break;
        for (const LogRecord& record : *records) Take(record, &lines);
      }
      if (!world_.Happened("strange log of " + id)) Compare(id, lines);
    }
  }

 private:
  using Place = std::pair<int, int>;  // attempt, rank
  struct Lines {
    std::map<Place, std::vector<int>> steps;
    std::map<Place, bool> holes;  // as the log says itself
  };

  static void Take(const LogRecord& record, Lines* lines) {
    const Place place{record.attempt, record.rank};
    int step = 0;
    if (record.note) lines->holes[place] = true;
    if (record.stream == LogStream::kOut &&
        std::sscanf(record.text.c_str(), "step %d of", &step) == 1) {
      lines->steps[place].push_back(step);
    }
  }

  void Compare(const std::string& job, const Lines& lines) {
    const int each = world_.PlanOf(job)->program.lines_per_step;
    for (const auto& [slot, steps] : steps_) {
      const auto& [of, attempt, rank] = slot;
      if (of != job || !Ended(job, attempt, rank)) continue;
      std::vector<int> expected;
      for (const int step : steps) expected.insert(expected.end(), static_cast<size_t>(each), step);
      const Place place{attempt, rank};
      if (world_.Happened("damaged log of " + job) && lines.holes.count(place) > 0) continue;
      const auto got = lines.steps.find(place);
      const auto& there = got == lines.steps.end() ? std::vector<int>() : got->second;
      if (there == expected) continue;
      // What the store would not have is lost; what it took before is there.
      const bool begins = there.size() < expected.size() &&
                          std::equal(there.begin(), there.end(), expected.begin());
      if (begins && world_.Happened("refuse-logs")) continue;
      if (begins && SaysSo(job, attempt, rank)) continue;
      world_.Breach("every-line",
                    "attempt " + std::to_string(attempt) + " node " + std::to_string(rank) +
                        " wrote " + std::to_string(expected.size()) + " lines, the store has " +
                        std::to_string(there.size()),
                    job);
    }
  }

  // Its time to save after a cancel was over before it reached the store again, and it has said so;
  // its program may have ended by itself just before (seed 10000213091).
  bool SaysSo(const std::string& job, int attempt, int rank) {
    const auto* object = world_.bucket().Find(paths::Report(job, attempt, rank));
    if (object == nullptr) return false;
    const auto report = DecodeReport("report", *object->data);
    return report.ok() && report->end && WasOpenAtCancel(job, attempt) &&
           report->trouble.find("log lines do not reach the store") != std::string::npos;
  }

  bool WasOpenAtCancel(const std::string& id, int number) const {
    const auto found = world_.jobs().find(id);
    if (found == world_.jobs().end() || !found->second.cancel) return false;
    for (const Attempt& attempt : found->second.attempts) {
      if (attempt.number != number) continue;
      return !attempt.ended || *attempt.ended >= found->second.cancel->at;
    }
    return false;
  }

  // The node's last word is that all is in the store, and it had the time to.
  bool Ended(const std::string& job, int attempt, int rank) {
    const auto* object = world_.bucket().Find(paths::Report(job, attempt, rank));
    if (object == nullptr) return false;
    const auto report = DecodeReport("report", *object->data);
    return report.ok() && report->phase == NodePhase::kEnded &&
           !world_.Happened("disk of " + report->instance_id + " full") && !report->notice &&
           report->end && report->end->reason != EndReason::kInterrupted;
  }

  World& world_;
  BucketClient client_;
  std::map<std::tuple<std::string, int, int>, std::vector<int>> steps_;
  std::set<std::string> gone_;
};

}  // namespace

void AddLogChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<EveryLine>(world));
}

namespace {

void WatchOne(World& world, Checks* all) {
  Checks checks;
  AddAccountChecks(world, &checks);
  AddAwayChecks(world, &checks);
  AddBootChecks(world, &checks);
  AddMoveChecks(world, &checks);
  AddMachineChecks(world, &checks);
  AddRecordChecks(world, &checks);
  AddCheckpointChecks(world, &checks);
  AddLogChecks(world, &checks);
  AddLedgerChecks(world, &checks);
  AddLateChecks(world, &checks);
  AddGangChecks(world, &checks);
  AddStartChecks(world, &checks);
  AddKeptChecks(world, &checks);
  AddGraceChecks(world, &checks);
  AddEndChecks(world, &checks);
  for (auto& check : checks) {
    world.Watch(check.get());
    all->push_back(std::move(check));
  }
}

}  // namespace

Checks WatchAll(World& world) {
  Checks checks;
  WatchOne(world, &checks);
  if (world.neighbour() != nullptr) WatchOne(*world.neighbour(), &checks);
  return checks;
}

}  // namespace stoker::sim
