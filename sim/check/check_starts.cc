// SPDX-License-Identifier: Apache-2.0
// Machines that a job wants again once they were stopped.
#include <algorithm>
#include <map>

#include "sim/check/checks.h"

namespace stoker::sim {
namespace {

// same-machine: where a job wants its machines again, nobody asks for another one while one of the
// slot is waited for; one of all who look starts it, and not too often; and none is started whose
// launch is closed.
class SameMachine : public Observer {
 public:
  explicit SameMachine(World& world) : world_(world) {}

  void OnRecord(const Job& before, const Job& after, const std::string& writer) override {
    if (!world_.plan().restarts || after.move) return;  // a move takes others on purpose
    std::map<int, int> open;                            // by slot
    for (const Launch& launch : after.launches) {
      if (launch.closed) continue;
      const auto [other, only] = open.try_emplace(launch.slot, launch.number);
      if (!only) {
        Breach(after, writer + " opens launch " + std::to_string(launch.number) +
                          " beside launch " + std::to_string(other->second) +
                          ", whose machine comes up again");
      }
      const Launch* was = FindLaunch(before, launch.number);
      const bool starts = was != nullptr && launch.starts.value_or(0) > was->starts.value_or(0);
      if (starts && was->next_start && world_.bucket().Now() < *was->next_start) {
        Breach(after, writer + " starts the machine of launch " + std::to_string(launch.number) +
                          " once more, too soon");
      }
    }
  }

  void OnStarting(const CloudMachine& machine, const std::string& process) override {
    if (!world_.plan().restarts || machine.state != InstanceState::kStopped) return;
    const auto job = world_.jobs().find(machine.request.job);
    if (job == world_.jobs().end()) return;
    const Launch* launch = FindLaunch(job->second, machine.launch());
    if (launch == nullptr || !launch->closed || !launch->closed_at) return;
    // A request may have been on its way for a minute.
    if (world_.bucket().Now() - *launch->closed_at < Duration::Minutes(2)) return;
    Breach(job->second, process + " starts " + machine.id + ", whose launch is closed");
  }

 private:
  void Breach(const Job& job, const std::string& what) {
    if (world_.Happened("damaged " + job.id) || world_.Happened("damaged ledger")) return;
    world_.Breach("same-machine", what, job.id);
  }

  World& world_;
};

}  // namespace

void AddStartChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<SameMachine>(world));
}

}  // namespace stoker::sim
