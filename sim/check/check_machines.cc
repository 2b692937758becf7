// SPDX-License-Identifier: Apache-2.0
// Who may run, be asked for and be ended.
#include <algorithm>
#include <map>

#include "base/json.h"
#include "job/encoding.h"
#include "ledger/paths.h"
#include "sim/check/checks.h"
#include "sim/node/host.h"

namespace stoker::sim {
namespace {

std::string Slot(const ProgramView& view) {
  return view.job + " " + std::to_string(view.attempt) + "-" + std::to_string(view.rank);
}

// one-machine: at most one node runs the program of a (job, attempt, slot), and it has the claim.
// no-fork: no two attempts of a job run at once.
class OneMachine : public Observer {
 public:
  explicit OneMachine(World& world) : world_(world) {}

  void OnChange(const BucketChange& change) override {
    // As it was written: what a fault makes of it later changes nobody's right.
    const bool claim = change.key.find("/claims/") != std::string::npos;
    if (claim && change.after && !change.writer.empty()) claims_[change.key] = change.after;
  }
  void OnProgramStarts(const ProgramView& view) override {
    CheckClaim(view);
    for (const auto& [machine, other] : running_) {
      if (machine == view.machine) {
        world_.Breach("one-machine", machine + " runs two programs", view.job);
      } else if (Slot(other) == Slot(view)) {
        world_.Breach("one-machine", Slot(view) + " runs on " + machine + " and " + view.machine,
                      view.job);
      } else if (other.job == view.job && other.attempt != view.attempt) {
        world_.Breach("no-fork",
                      "attempts " + std::to_string(other.attempt) + " and " +
                          std::to_string(view.attempt) + " run at once",
                      view.job);
      }
    }
    running_[view.machine] = view;
  }
  void OnProgramEnds(const ProgramView& view, int, int) override { running_.erase(view.machine); }

 private:
  void CheckClaim(const ProgramView& view) {
    const auto claim = claims_.find(paths::Claim(view.job, view.attempt, view.rank));
    if (claim == claims_.end()) {
      return world_.Breach("one-machine", Slot(view) + " starts without a claim", view.job);
    }
    const auto json = nlohmann::json::parse(*claim->second, nullptr, false);
    if (json.is_discarded() || json.value("instance_id", "") != view.machine) {
      world_.Breach("one-machine",
                    Slot(view) + " starts on " + view.machine +
                        " with the claim of another: " + *claim->second,
                    view.job);
    }
  }

  World& world_;
  std::map<std::string, ProgramView> running_;
  std::map<std::string, std::shared_ptr<const std::string>> claims_;  // by key
};

// intent-first: no request without its entry in the record, written before, and none after its
// time; its token is a hash of exactly that entry.
class IntentFirst : public Observer {
 public:
  explicit IntentFirst(World& world) : world_(world) {}

  void OnRequested(const LaunchRequest& request, const std::string&) override {
    const auto job = world_.jobs().find(request.job);
    if (job == world_.jobs().end()) {
      return world_.Breach("intent-first", "a request for a job without record", request.job);
    }
    const Launch* launch = FindLaunch(job->second, request.launches.front());
    const std::string name = "launch " + std::to_string(request.launches.front());
    if (launch == nullptr) {
      return world_.Breach("intent-first", name + " is not in the record", request.job);
    }
    const Request& entry = RequestOf(job->second, *launch);
    if (entry.token != request.token ||
        request.token != RequestToken(request.ledger_id, job->second, entry)) {
      return world_.Breach("intent-first", name + " is asked for by another token", request.job);
    }
    std::vector<int> launches(entry.slots.size());
    for (const Launch& each : job->second.launches) {
      if (each.request == entry.number) launches[static_cast<size_t>(each.index)] = each.number;
    }
    if (entry.limit != request.limit || entry.not_after != request.not_after ||
        entry.ask != request.ask || launches != request.launches) {
      world_.Breach("intent-first", name + " is not as its entry says", request.job);
    }
  }
  // The other half of one-machine: one machine a token as long as the platform remembers it.
  void OnBooted(const CloudMachine& machine) override {
    if (machine.made_at + kEpochMs > machine.request.not_after.ms + kLateAnswer) {
      world_.Breach("intent-first", machine.id + " was made after its request had expired",
                    machine.request.job);
    }
  }

 private:
  static constexpr int64_t kLateAnswer = 60'000;  // a request on its way when the time was over
  World& world_;
};

// no-blind-kill: a machine is ended by others only on a record that closes its launch or ends its
// job, or after its own time.
class NoBlindKill : public Observer {
 public:
  explicit NoBlindKill(World& world) : world_(world) {}
  void OnTerminating(const CloudMachine& machine, const std::string& process) override {
    if (machine.state == InstanceState::kGone || world_.now() >= machine.expires_at) return;
    const auto job = world_.jobs().find(machine.request.job);
    const Launch* launch =
        job == world_.jobs().end() ? nullptr : FindLaunch(job->second, machine.launch());
    if (launch != nullptr && launch->closed) return;
    world_.Breach("no-blind-kill", process + " ends " + machine.id + ", whose launch is open",
                  machine.request.job);
  }

 private:
  World& world_;
};

// no-blind-kill, too: nobody gives up a machine that runs, and whose node has just reported, for
// what could not be seen of it.
class NoBlindLoss : public Observer {
 public:
  explicit NoBlindLoss(World& world) : world_(world) {}

  void OnChange(const BucketChange& change) override {
    if (change.key.rfind("reports/", 0) != 0 || !change.after || change.writer.empty()) return;
    const auto report = DecodeReport(change.key, *change.after);
    if (!report.ok()) return;
    heard_[{report->job, report->launch}] = world_.bucket().Now();
    first_.try_emplace({report->job, report->launch}, world_.now());
    if (report->phase > NodePhase::kWaiting) {
      holder_[{report->job, report->launch}] = report->instance_id;
    }
  }
  // What was stopped after its node had begun is dead: it is ended, not brought back.
  void OnStarting(const CloudMachine& machine, const std::string& process) override {
    const std::string& job = machine.request.job;
    const auto first = first_.find({job, machine.launch()});
    if (machine.state != InstanceState::kStopped || first == first_.end()) return;
    if (world_.plan().restarts) return;
    if (world_.Happened("damaged " + job) || world_.Happened("damaged ledger")) return;
    // A request may have been on its way for a minute.
    if (world_.now() - first->second < 180'000) return;
    world_.Breach("no-blind-kill", process + " starts " + machine.id + ", whose node had begun",
                  job);
  }
  void OnRecord(const Job& before, const Job& after, const std::string& writer) override {
    for (const Launch& launch : after.launches) {
      const Launch* was = FindLaunch(before, launch.number);
      if (!launch.closed || was == nullptr || was->closed) continue;
      if (launch.close_reason == CloseReason::kLost) Check(after.id, launch, writer);
      CheckQueue(after.id, launch, writer);
    }
  }

 private:
  void Check(const std::string& job, const Launch& launch, const std::string& writer) {
    if (world_.Happened("damaged " + job) || world_.Happened("damaged ledger")) return;
    const auto heard = heard_.find({job, launch.number});
    if (heard == heard_.end() || !launch.closed_at) return;
    const WallTime closed = *launch.closed_at;
    // It had just reported; or it had, when the store went away, which has only just come back.
    const Bucket& store = world_.bucket();
    const WallTime went{kEpochMs + store.away_since};
    const WallTime back{kEpochMs + store.away_until};
    const bool just = heard->second <= closed && closed - heard->second <= kJust;
    const bool unheard =
        back <= closed && closed - back <= kJust && heard->second + Duration::Seconds(30) >= went;
    if (!just && !unheard) return;
    for (const auto& [id, machine] : world_.cloud().machines()) {
      // One that was stopped and started is not the one that was seen.
      if (machine.owner != world_.number() || machine.request.job != job ||
          machine.launch() != launch.number || machine.state != InstanceState::kRunning ||
          machine.boots > 1 || WaitsForTheDead(job, launch.number, id)) {
        continue;
      }
      world_.Breach("no-blind-kill",
                    writer + " gives up " + id + ", which runs and reports: " + launch.close_why,
                    job);
    }
  }

  // It was made twice, and its twin, which is gone, has what the attempt claims: it can never
  // begin.
  bool WaitsForTheDead(const std::string& job, int launch, const std::string& id) const {
    const auto holder = holder_.find({job, launch});
    if (holder == holder_.end() || holder->second == id) return false;
    const CloudMachine* twin = world_.cloud().Find(holder->second);
    return twin != nullptr && twin->state == InstanceState::kGone;
  }

  static constexpr int64_t kUnheardOf = 60'000;

  // What queues comes some day: nobody gives it up for the time that it takes.
  void CheckQueue(const std::string& job, const Launch& launch, const std::string& writer) {
    const bool given_up =
        launch.close_reason == CloseReason::kLost || launch.close_reason == CloseReason::kNeverCame;
    if (!given_up) return;
    bool queues = false;
    for (const auto& [id, machine] : world_.cloud().machines()) {
      if (machine.owner != world_.number() || machine.request.job != job) continue;
      if (machine.launch() != launch.number) continue;
      // One of several, or one that was up before.
      if (machine.state != InstanceState::kQueued || machine.requeued) return;
      // Of a request whose answer was lost, while a later one was refused: nobody knows of it yet.
      const int64_t lately = world_.now() - kUnheardOf;
      const bool never_came = launch.close_reason == CloseReason::kNeverCame;
      if (never_came && machine.made_at > lately) return;
      // Or that provider has not answered anybody since; nor before, but for those few moments.
      const int64_t heard_by = machine.made_at + (never_came ? kUnheardOf : 0);
      if (world_.cloud().WasAway(machine, heard_by, lately)) return;
      queues = true;
    }
    if (!queues) return;
    world_.Breach("no-blind-kill",
                  writer + " gives up launch " + std::to_string(launch.number) +
                      ", whose machine queues: " + launch.close_why,
                  job);
  }

  static constexpr Duration kJust = Duration::Seconds(10);
  World& world_;
  std::map<std::pair<std::string, int>, WallTime> heard_;
  std::map<std::pair<std::string, int>, int64_t> first_;
  std::map<std::pair<std::string, int>, std::string> holder_;  // the machine that has begun
};

// bounded-life: no machine outlives its limit, which only a healthy agent moves.
class BoundedLife : public Observer {
 public:
  explicit BoundedLife(World& world) : world_(world) {}
  void OnMachineEnded(const CloudMachine& machine) override {
    // Then it has no power to do so: check_account.cc.
    if (world_.plan().limit_needs_boot) return;
    if (world_.now() > machine.expires_at + 1'000) {
      world_.Breach("bounded-life", machine.id + " outlived its limit", machine.request.job);
    }
  }

 private:
  World& world_;
};

}  // namespace

void AddMachineChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<OneMachine>(world));
  checks->push_back(std::make_unique<IntentFirst>(world));
  checks->push_back(std::make_unique<NoBlindKill>(world));
  checks->push_back(std::make_unique<NoBlindLoss>(world));
  checks->push_back(std::make_unique<BoundedLife>(world));
}

}  // namespace stoker::sim
