// SPDX-License-Identifier: Apache-2.0
// What is asked for at once stays together.
#include <algorithm>
#include <set>

#include "sim/check/checks.h"

namespace stoker::sim {
namespace {

// gang: where a place takes gangs, what an attempt lacks is one request; a request that was refused
// is refused for all of its machines; where a place ends machines of a request only together, an
// attempt has all of them or none; and each launch's machine is the one that was made for it.
class GangStaysWhole : public Observer {
 public:
  explicit GangStaysWhole(World& world) : world_(world) {}

  void OnRecord(const Job& before, const Job& after, const std::string& writer) override {
    writer_ = writer;
    CheckAskedAtOnce(before, after);
    CheckRefused(after);
    CheckKept(after);
    CheckTogether(after);
    CheckMachines(after);
  }

 private:
  void Breach(const Job& job, const std::string& what) {
    world_.Breach("gang", what + " (by " + writer_ + ")", job.id);
  }

  void CheckAskedAtOnce(const Job& before, const Job& after) {
    if (!world_.plan().takes_gangs) return;
    const auto opened = std::count_if(
        after.requests.begin(), after.requests.end(),
        [&](const Request& request) { return FindRequest(before, request.number) == nullptr; });
    if (opened > 1) Breach(after, std::to_string(opened) + " requests are opened for one attempt");
  }

  void CheckRefused(const Job& after) {
    std::set<int> refused;
    for (const Launch& launch : after.launches) {
      if (launch.close_reason == CloseReason::kRefused) refused.insert(launch.request);
    }
    for (const Launch& launch : after.launches) {
      if (launch.closed || !refused.contains(launch.request)) continue;
      Breach(after, "launch " + std::to_string(launch.number) +
                        " is open although its request was refused");
    }
  }

  void CheckKept(const Job& after) {
    if (world_.plan().ends_one_alone) return;
    for (const Attempt& attempt : after.attempts) {
      const std::set<int> mine(attempt.launches.begin(), attempt.launches.end());
      std::set<int> requests;
      for (const int number : mine) {
        if (const Launch* launch = FindLaunch(after, number)) requests.insert(launch->request);
      }
      for (const Launch& launch : after.launches) {
        if (!requests.contains(launch.request) || mine.contains(launch.number)) continue;
        Breach(after, "attempt " + std::to_string(attempt.number) + " has a part of request " +
                          std::to_string(launch.request));
      }
    }
  }

  // Machines that train together are in one place.
  void CheckTogether(const Job& after) {
    for (const Attempt& attempt : after.attempts) {
      if (attempt.state == AttemptState::kProvisioning) continue;
      std::set<std::string> places;
      for (const int number : attempt.launches) {
        const Launch* launch = FindLaunch(after, number);
        if (launch == nullptr) continue;
        const Place& place = RequestOf(after, *launch).ask.place;
        places.insert(place.provider + " " + place.zone);
      }
      if (places.size() < 2) continue;
      Breach(after, "attempt " + std::to_string(attempt.number) + " is in two places, " +
                        *places.begin() + " and " + *places.rbegin());
    }
  }

  void CheckMachines(const Job& after) {
    for (const Launch& launch : after.launches) {
      const auto& machines = world_.cloud().machines();
      const auto machine = machines.find(launch.instance_id);
      if (machine == machines.end() || machine->second.launch() == launch.number) continue;
      Breach(after, "launch " + std::to_string(launch.number) + " is given " + machine->first +
                        ", which is that of launch " + std::to_string(machine->second.launch()));
    }
  }

  World& world_;
  std::string writer_;
};

}  // namespace

void AddGangChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<GangStaysWhole>(world));
}

}  // namespace stoker::sim
