// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/triggers.h"

#include <algorithm>
#include <set>

#include "checkpoint/manifest.h"
#include "sim/faults/faults.h"

namespace stoker::sim {
namespace {

// Something that a fault may wait for has happened.
struct Happening {
  const char* what;
  int number = 0;
  std::string cause;  // a process, or a machine
  std::string job;
  int attempt = 0;  // whose machines it is about; 0 = the job's
};

class TriggerWatch : public Observer {
 public:
  explicit TriggerWatch(World& world) : world_(world) {
    for (const FaultPlan& fault : world.plan().faults) {
      if (!fault.on.empty()) waiting_.push_back({&fault, fault.count});
    }
  }
  bool idle() const { return waiting_.empty(); }

  void OnRequested(const LaunchRequest& request, const std::string& process) override {
    Happened({"launch-requested", request.launches.front(), process, request.job});
  }
  void OnRecord(const Job& before, const Job& after, const std::string& writer) override {
    Happened({"record-written", static_cast<int>(after.rev), writer, after.id});
    for (const Attempt& now : after.attempts) {
      const Attempt* const old = FindAttempt(before, now.number);
      const char* const what = Entered(now.state);
      if (what == nullptr || (old != nullptr && old->state == now.state)) continue;
      Happened({what, now.number, writer, after.id, now.number});
    }
  }
  void OnChange(const BucketChange& change) override {
    if (!change.after || change.before || !IdOfManifestKey(change.key)) return;
    const auto manifest = DecodeManifest(*change.after);
    if (!manifest.ok() || !committed_.insert(manifest->job).second) return;
    Happened({"first-commit", 0, change.writer, manifest->job, manifest->id.attempt});
  }
  void OnBooted(const CloudMachine& machine) override {
    Happened({"machine-up", machine.launch(), machine.id, machine.request.job});
  }
  void OnRestored(const ProgramView& view, const std::string&) override {
    Happened({"restored", view.attempt, view.machine, view.job, view.attempt});
  }
  void OnProgramStarts(const ProgramView& view) override {
    Happened({"program-starts", view.attempt, view.machine, view.job, view.attempt});
  }
  void OnProgramEnds(const ProgramView& view, int, int) override {
    Happened({"program-ends", view.attempt, view.machine, view.job, view.attempt});
  }

 private:
  struct Waiting {
    const FaultPlan* fault;
    int left;  // blows
  };

  static const char* Entered(AttemptState state) {
    switch (state) {
      case AttemptState::kRunning:
        return "attempt-running";
      case AttemptState::kDraining:
        return "attempt-draining";
      case AttemptState::kEnded:
        return "attempt-ended";
      default:
        return nullptr;
    }
  }

  void Happened(const Happening& happening) {
    for (Waiting& one : waiting_) {
      const FaultPlan& fault = *one.fault;
      if (one.left <= 0 || fault.on != happening.what || world_.now() < fault.at) continue;
      if (fault.number != 0 && fault.number != happening.number) continue;
      const int blows = fault.every > 0 ? one.left : 1;
      one.left -= blows;
      Plan(fault, happening, blows);
    }
  }

  void Plan(const FaultPlan& fault, const Happening& happening, int blows) {
    FaultPlan blow = fault;
    if (fault.who == "cause") blow.who = happening.cause;
    blow.job = happening.job;
    blow.attempt = happening.attempt;
    const FaultKind* const kind = FindFault(fault.kind);
    for (int i = 0; i < blows; ++i) {
      world_.scheduler().In(fault.after_ms + i * fault.every, [this, blow, kind] {
        if (!world_.calm() && kind != nullptr) kind->strike(world_, blow);
      });
    }
  }

  World& world_;
  std::vector<Waiting> waiting_;
  std::set<std::string> committed_;  // jobs
};

}  // namespace

const std::vector<TriggerKind>& TriggerKinds() {
  static const std::vector<TriggerKind> kinds = {
      {"attempt-draining", "attempt"}, {"attempt-ended", "attempt"},
      {"attempt-running", "attempt"},  {"first-commit", ""},
      {"launch-requested", "launch"},  {"machine-up", "launch"},
      {"program-ends", "attempt"},     {"program-starts", "attempt"},
      {"record-written", "revision"},  {"restored", "attempt"},
  };
  return kinds;
}

const TriggerKind* FindTrigger(const std::string& name) {
  for (const TriggerKind& kind : TriggerKinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

std::unique_ptr<Observer> WatchTriggers(World& world) {
  auto watch = std::make_unique<TriggerWatch>(world);
  if (watch->idle()) return nullptr;
  return watch;
}

}  // namespace stoker::sim
