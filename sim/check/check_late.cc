// SPDX-License-Identifier: Apache-2.0
// What must not happen any more after a time. The times are generous: what was on its way, a
// process that slept and a store that was away must not look like a breach.
#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "checkpoint/manifest.h"
#include "reconcile/reconcile.h"
#include "sim/check/checks.h"

namespace stoker::sim {
namespace {

constexpr int64_t kOnItsWay = 600'000;
constexpr int64_t kSlack = 60'000;

// bounded-life: a machine is gone one lease after a healthy agent has renewed it last, whoever
// asked for it with whatever limit.
class OneLease : public Observer {
 public:
  explicit OneLease(World& world) : world_(world) {}
  void OnMachineEnded(const CloudMachine& machine) override { Check(machine); }
  void OnEnd() override {
    for (const auto& [id, machine] : world_.cloud().machines()) {
      const bool ours = machine.owner == world_.number();
      if (ours && machine.state != InstanceState::kGone) Check(machine);
    }
  }

 private:
  void Check(const CloudMachine& machine) {
    if (world_.plan().limit_needs_boot) return;  // check_account.cc
    const int64_t renewed = machine.expires_at - machine.request.limit.ms;
    if (world_.now() - renewed <= kDefaultLease.ms + kSlack) return;
    world_.Breach("bounded-life",
                  machine.id + " went on for " +
                      std::to_string((world_.now() - renewed) / 3'600'000) +
                      " h after its lease was renewed last",
                  machine.request.job);
  }

  World& world_;
};

// no-fork: an attempt whose end is in the record commits nothing more.
class GivenUp : public Observer {
 public:
  explicit GivenUp(World& world) : world_(world) {}
  void OnRecord(const Job&, const Job& after, const std::string&) override {
    for (const Attempt& attempt : after.attempts) {
      if (attempt.state == AttemptState::kEnded) {
        ended_.try_emplace({after.id, attempt.number}, world_.now());
      }
    }
  }
  void OnChange(const BucketChange& change) override {
    // An empty one only takes the number.
    if (!change.after || change.after->empty() || change.before) return;
    const auto id = IdOfManifestKey(change.key);
    if (!id || !StartsWith(change.key, "jobs/")) return;
    const std::string job = change.key.substr(5, change.key.find('/', 5) - 5);
    if (ManifestKey(job, *id) != change.key) return;
    const auto ended = ended_.find({job, id->attempt});
    if (ended == ended_.end() || world_.now() <= ended->second) return;
    world_.Breach("no-fork",
                  "checkpoint " + id->ToString() + " is committed " +
                      std::to_string((world_.now() - ended->second) / 60'000) +
                      " min after its attempt had ended",
                  job);
  }

 private:
  World& world_;
  std::map<std::pair<std::string, int>, int64_t> ended_;
};

// done-is-done: no program goes on once its job has ended.
class EndedStops : public Observer {
 public:
  explicit EndedStops(World& world) : world_(world) {}
  void OnRecord(const Job&, const Job& after, const std::string&) override {
    if (IsFinal(after.state)) ended_.try_emplace(after.id, world_.now());
  }
  void OnStep(const ProgramView& view) override {
    const auto ended = ended_.find(view.job);
    if (ended == ended_.end() || world_.now() <= ended->second) return;
    world_.Breach("done-is-done",
                  "its program goes on " + std::to_string((world_.now() - ended->second) / 1000) +
                      " s after it has ended",
                  view.job);
  }

 private:
  World& world_;
  std::map<std::string, int64_t> ended_;
};

// right-result: where machines reconcile, the program of a job that was cancelled does not go on.
class CancelStops : public Observer {
 public:
  explicit CancelStops(World& world) : world_(world) {}
  void OnRecord(const Job&, const Job& after, const std::string&) override {
    if (after.cancel) cancelled_.try_emplace(after.id, world_.now());
  }
  void OnStep(const ProgramView& view) override {
    const auto cancelled = cancelled_.find(view.job);
    if (cancelled == cancelled_.end()) return;
    const Tier tier = world_.plan().tier;
    if (tier != Tier::kAll && tier != Tier::kAgents) return;
    const int64_t grace = world_.PlanOf(view.job)->stop_grace.ms;
    if (world_.now() - cancelled->second <= grace + kOnItsWay) return;
    world_.Breach("right-result",
                  "its program goes on " +
                      std::to_string((world_.now() - cancelled->second) / 60'000) +
                      " min after it was cancelled",
                  view.job);
  }

 private:
  World& world_;
  std::map<std::string, int64_t> cancelled_;
};

}  // namespace

void AddLateChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<OneLease>(world));
  checks->push_back(std::make_unique<GivenUp>(world));
  checks->push_back(std::make_unique<EndedStops>(world));
  checks->push_back(std::make_unique<CancelStops>(world));
}

}  // namespace stoker::sim
