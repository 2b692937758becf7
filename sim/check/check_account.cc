// SPDX-License-Identifier: Apache-2.0
// An account is shared: with machines of somebody else, with another ledger, with what ends
// machines whose time is over. And it costs.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/text.h"
#include "reconcile/reconcile.h"
#include "sim/check/checks.h"

namespace stoker::sim {
namespace {

// foreign: what is not of this ledger is neither ended nor started, stands in no record, and no
// token of this one has made it.
class ForeignIsLeftAlone : public Observer {
 public:
  explicit ForeignIsLeftAlone(World& world) : world_(world) {}

  void OnTerminating(const CloudMachine& machine, const std::string& process) override {
    Check(machine, process + " ends ");
  }
  void OnStarting(const CloudMachine& machine, const std::string& process) override {
    Check(machine, process + " starts ");
  }
  void OnRequested(const LaunchRequest& request, const std::string& process) override {
    const auto owner = world_.cloud().OwnerOf(request.token);
    if (!owner || *owner == world_.number()) return;
    world_.Breach("foreign", process + " asks with a token that another ledger has used",
                  request.job);
  }
  void OnRecord(const Job&, const Job& after, const std::string& writer) override {
    for (const Launch& launch : after.launches) {
      const CloudMachine* const machine = world_.cloud().Find(launch.instance_id);
      if (machine == nullptr) continue;
      Check(*machine, writer + " gives launch " + std::to_string(launch.number) + " of " +
                          after.id + " the machine ");
    }
  }

 private:
  void Check(const CloudMachine& machine, const std::string& what) {
    if (machine.owner == world_.number()) return;
    const bool nobodys = machine.owner == kNobodyOfOurs;
    world_.Breach("foreign",
                  what + machine.id +
                      (nobodys ? ", which is somebody else's" : ", which is another ledger's"));
  }

  World& world_;
};

// expiry: where a machine without power cannot end itself, one whose time is over is ended by what
// sweeps the account: within two of its rounds, whoever of ours has died. What has power ends
// itself.
class ExpiredIsEnded : public Observer {
 public:
  explicit ExpiredIsEnded(World& world) : world_(world) {}

  void OnMachineEnded(const CloudMachine& machine) override { Check(machine); }
  void OnEnd() override {
    for (const auto& [id, machine] : world_.cloud().machines()) {
      const bool ours = machine.owner == world_.number();
      if (ours && machine.state != InstanceState::kGone) Check(machine);
    }
  }

 private:
  // Of the one that comes by most often and for good; unset: there is none.
  std::optional<int64_t> Period() const {
    std::optional<int64_t> period;
    for (const ControllerPlan& one : world_.plan().controllers) {
      if (one.kind != ControllerKind::kSweeper || one.end >= 0) continue;
      period = std::min(period.value_or(one.period), one.period);
    }
    return period;
  }

  void Check(const CloudMachine& machine) {
    const auto period = Period();
    if (!world_.plan().limit_needs_boot || !period) return;
    // Nobody can end anything while the provider is away, and before the calm requests fail.
    const int64_t over = std::max(
        {machine.renewed_at + kDefaultLease.ms, world_.plan().calm, world_.cloud().LastAway()});
    const int64_t since = world_.now() - over;
    if (since <= 2 * *period + kSlack) return;
    world_.Breach(
        "expiry",
        machine.id + " is there " + std::to_string(since / 60'000) + " min after its time",
        machine.request.job);
  }

  static constexpr int64_t kSlack = 60'000;
  World& world_;
};

// The provider at which alone `writer`, a node or a function, may ask for machines; "" = it may ask
// at all.
std::string OnlyAskableOf(World& world, const std::string& writer) {
  if (StartsWith(writer, "away")) return world.plan().zones.front().provider;
  if (!world.plan().nodes_ask_own) return "";
  const CloudMachine* const machine = world.cloud().Find(writer.substr(0, writer.find('/')));
  return machine == nullptr ? "" : machine->request.ask.place.provider;
}

// What trains with machines that are there is asked for beside them.
bool HasOthersThere(const Job& job, const Request& request) {
  return std::any_of(job.launches.begin(), job.launches.end(), [&](const Launch& launch) {
    return launch.request != request.number && !launch.closed &&
           RequestOf(job, launch).ask.place == request.ask.place;
  });
}

// may-ask: who may not ask everywhere opens no request elsewhere, while there is something to be
// had where it may: nobody might come by who sends it.
class AsksWhereItMay : public Observer {
 public:
  explicit AsksWhereItMay(World& world) : world_(world) {}

  void OnRecord(const Job& before, const Job& after, const std::string& writer) override {
    const std::string only = OnlyAskableOf(world_, writer);
    // Of a job that has not begun its submitter may still be there (OffersHere).
    if (only.empty() || before.requests.empty()) return;
    for (const Request& request : after.requests) {
      if (FindRequest(before, request.number) == nullptr) Check(after, request, only, writer);
    }
  }

 private:
  void Check(const Job& job, const Request& request, const std::string& only,
             const std::string& writer) {
    if (request.ask.place.provider == only || HasOthersThere(job, request)) return;
    const std::vector<Offer>& offers = OffersNow(job);
    const bool offered = std::any_of(offers.begin(), offers.end(), [&](const Offer& offer) {
      return offer.ask.place.provider == only;
    });
    const bool refused =
        std::any_of(job.requests.begin(), job.requests.end(), [&](const Request& past) {
          const bool for_good =
              past.refusal && (past.refusal->final || past.refusal->what == RefusalClass::kInvalid);
          return for_good && past.ask.place.provider == only;
        });
    if (!offered || refused) return;
    world_.Breach("may-ask",
                  writer + " opens request " + std::to_string(request.number) + " at " +
                      request.ask.place.provider + ", where it may not ask, although " + only +
                      " may have machines",
                  job.id);
  }

  World& world_;
};

// price: of places of one rank that nothing speaks against, the cheapest is asked; no machine costs
// more than its job may pay.
class CheapestFirst : public Observer {
 public:
  explicit CheapestFirst(World& world) : world_(world) {}

  void OnRecord(const Job& before, const Job& after, const std::string& writer) override {
    const std::string only = OnlyAskableOf(world_, writer);
    for (const Request& request : after.requests) {
      if (FindRequest(before, request.number) != nullptr) continue;
      CheckChoice(before, after, request, only);
      if (after.offers.empty()) unbounded_.insert(request.token);
    }
  }
  void OnBooted(const CloudMachine& machine) override {
    const auto job = world_.jobs().find(machine.request.job);
    if (job == world_.jobs().end() || machine.boots > 1) return;
    const int64_t ceiling = world_.PlanOf(job->first)->ceiling;
    // One that is moved to where it has a ceiling may have asked before, and send that late.
    if (ceiling == 0 || unbounded_.count(machine.request.token) != 0) return;
    if (machine.price <= ceiling) return;
    world_.Breach("price",
                  machine.id + " was had for " + std::to_string(machine.price) +
                      ", more than the ceiling of " + std::to_string(ceiling),
                  job->first);
  }

 private:
  // `only`: it was chosen by who may ask there alone, if not "".
  void CheckChoice(const Job& before, const Job& after, const Request& request,
                   const std::string& only) {
    const std::vector<Offer>& offers = OffersNow(after);
    const auto chosen = std::find_if(offers.begin(), offers.end(), [&](const Offer& o) {
      return o.ask.place == request.ask.place;
    });
    if (chosen == offers.end() || !chosen->price || HasOthersThere(after, request)) return;
    for (const Offer& other : offers) {
      const bool cheaper =
          other.rank == chosen->rank && other.price && *other.price < *chosen->price;
      if (!cheaper && other.rank >= chosen->rank) continue;
      if (!only.empty() && other.ask.place.provider != only) continue;
      if (WasRefused(before, other) || WasRefused(after, other)) continue;
      world_.Breach("price",
                    "request " + std::to_string(request.number) + " goes to " +
                        request.ask.place.zone + ", although " + other.ask.place.zone +
                        " comes first and has refused nothing",
                    after.id);
    }
  }

  // Whatever it was, and whatever of it that holds for: more than what speaks against the offer.
  static bool WasRefused(const Job& job, const Offer& offer) {
    return std::any_of(job.requests.begin(), job.requests.end(), [&](const Request& request) {
      return request.refusal && request.ask.place.provider == offer.ask.place.provider;
    });
  }

  World& world_;
  std::set<std::string> unbounded_;  // tokens
};

// owner: for what its owner has ended nothing more is asked, however late it is told who it was, up
// to the time that is given to that. Only where whoever looks sees what is: one that is silent for
// long enough is replaced before anybody can be told.
class OwnerIsHeeded : public Observer {
 public:
  explicit OwnerIsHeeded(World& world) : world_(world) {}

  void OnRecord(const Job&, const Job& after, const std::string&) override {
    const auto machine = MachineOf(after.id);
    if (machine != nullptr) return;
    for (const Request& request : after.requests) before_.insert(request.token);
  }
  void OnRequested(const LaunchRequest& request, const std::string& process) override {
    const CloudMachine* const machine = MachineOf(request.job);
    if (machine == nullptr || before_.count(request.token) != 0) return;
    if (world_.now() - ends_[request.job] >= kEnderWithin.ms) return;
    world_.Breach("owner",
                  process + " asks for another machine although its owner has ended " + machine->id,
                  request.job);
  }

 private:
  // That its owner has ended; null = none yet.
  const CloudMachine* MachineOf(const std::string& job) {
    for (const auto& [id, machine] : world_.cloud().machines()) {
      const bool ours = machine.owner == world_.number() && machine.request.job == job;
      if (!ours || machine.ended_by != EndedBy::kOwner) continue;
      ends_.try_emplace(job, world_.now());
      return &machine;
    }
    return nullptr;
  }

  World& world_;
  std::set<std::string> before_;         // tokens of what was opened before
  std::map<std::string, int64_t> ends_;  // by job: when it was first seen
};

}  // namespace

void AddAccountChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<ForeignIsLeftAlone>(world));
  checks->push_back(std::make_unique<ExpiredIsEnded>(world));
  checks->push_back(std::make_unique<AsksWhereItMay>(world));
  checks->push_back(std::make_unique<CheapestFirst>(world));
  checks->push_back(std::make_unique<OwnerIsHeeded>(world));
}

}  // namespace stoker::sim
