// SPDX-License-Identifier: Apache-2.0
// What a function that looks after jobs where nobody is may ask for.
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "base/text.h"
#include "sim/check/checks.h"
#include "sim/people/away.h"

namespace stoker::sim {
namespace {

// away-bound: a function asks for no machine beyond what it was bound to when it was installed,
// whoever else has asked for machines of the ledger, and however many of it run at once. What
// others ask for while a call of it is at work, nobody can know.
class AwayIsBound : public Observer {
 public:
  explicit AwayIsBound(World& world) : world_(world) {}

  void OnActor(const std::string& process, const std::string&) override {
    if (PlanOf(process) != nullptr) began_[process] = world_.now();
  }
  void OnRequested(const LaunchRequest& request, const std::string& process) override {
    const ControllerPlan* const plan = PlanOf(process);
    if (plan == nullptr) return;
    tokens_.insert(request.token);
    const Ask& ask = request.ask;
    if (ask.type == kLargeType) Beyond(process, "a machine that is large", request);
    const int64_t price = PriceOf(ask);
    if (plan->price > 0 && (price == 0 || price > plan->price)) {
      Beyond(process, "a machine for " + std::to_string(price), request);
    }
    const int there = ThereBut(request, process);
    const auto more = static_cast<int>(request.launches.size());
    if (there + more > plan->machines) {
      Beyond(process, std::to_string(more) + " more where there are " + std::to_string(there),
             request);
    }
  }

 private:
  void Beyond(const std::string& process, const std::string& what, const LaunchRequest& request) {
    world_.Breach("away-bound", process + " asks for " + what, request.job);
  }

  // Null: it is no function's.
  const ControllerPlan* PlanOf(const std::string& process) const {
    if (!StartsWith(process, "away")) return nullptr;
    const auto index = static_cast<size_t>(std::atoi(process.c_str() + 4));
    return &world_.plan().controllers.at(index);
  }

  // The most that it can cost; 0 = not known.
  int64_t PriceOf(const Ask& ask) const {
    int64_t price = ask.ceiling.value_or(0);
    for (const Zone& zone : world_.plan().zones) {
      if (zone.name != ask.place.zone || zone.price == 0) continue;
      price = price == 0 ? zone.price : std::min(price, zone.price);
    }
    return price;
  }

  // Of its provider alone: of what others lend it knows nothing.
  int ThereBut(const LaunchRequest& request, const std::string& process) {
    int there = 0;
    for (const auto& [id, machine] : world_.cloud().machines()) {
      const LaunchRequest& of = machine.request;
      const bool has_power =
          machine.state != InstanceState::kGone && machine.state != InstanceState::kStopped;
      const bool its = machine.owner == world_.number() && of.token != request.token &&
                       of.ask.place.provider == request.ask.place.provider;
      if (!its || !has_power) continue;
      if (tokens_.contains(machine.request.token) || WasKnown(machine, began_[process])) ++there;
    }
    return there;
  }

  // That others have asked for it stood in a record when the call began.
  bool WasKnown(const CloudMachine& machine, int64_t began) const {
    if (machine.made_at >= began) return false;
    const auto job = world_.jobs().find(machine.request.job);
    const Launch* const launch =
        job == world_.jobs().end() ? nullptr : FindLaunch(job->second, machine.launch());
    return launch != nullptr && !launch->closed;
  }

  World& world_;
  std::set<std::string> tokens_;          // that a function has asked with
  std::map<std::string, int64_t> began_;  // its calls
};

}  // namespace

void AddAwayChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<AwayIsBound>(world));
}

}  // namespace stoker::sim
