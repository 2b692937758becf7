// SPDX-License-Identifier: Apache-2.0
// Machines that come up and cannot begin.
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "job/encoding.h"
#include "policy/boots.h"
#include "sim/check/checks.h"

namespace stoker::sim {
namespace {

// boots: a job ends for machines that cannot begin where none of it ever began and two of one node
// in a row have met what does not pass; and then no third is asked for.
class BootsThatFail : public Observer {
 public:
  explicit BootsThatFail(World& world) : world_(world) {}

  void OnChange(const BucketChange& change) override {
    if (!StartsWith(change.key, "reports/") || !change.after || change.writer.empty()) return;
    const auto report = DecodeReport(change.key, *change.after);
    if (report.ok()) heard_.try_emplace(report->job, world_.now());
  }

  void OnRecord(const Job& before, const Job& after, const std::string& writer) override {
    for (const Request& request : after.requests) opened_.try_emplace(request.token, world_.now());
    const bool ends = !before.result && after.result &&
                      after.result->why.find("could not begin") != std::string::npos;
    if (!ends) return;
    const auto heard = heard_.find(after.id);
    if (heard != heard_.end() && world_.now() - heard->second > kOnItsWay) {
      return Breach(after.id, writer + " ends a job that began once for boots that fail");
    }
    int most = 0;
    for (int slot = 0; slot < after.num_nodes; ++slot) {
      most = std::max(most, InARow(after, slot, world_.now()));
    }
    if (most >= kMostFailedBoots) return;
    Breach(after.id, writer + " ends it for boots that fail, of which there were " +
                         std::to_string(most) + " in a row");
  }

  // What was opened before it could be known is sent all the same.
  void OnRequested(const LaunchRequest& request, const std::string& process) override {
    const auto job = world_.jobs().find(request.job);
    if (job == world_.jobs().end() || heard_.contains(request.job) || !AllIsHeard()) return;
    const auto opened = opened_.find(request.token);
    if (opened == opened_.end()) return;
    for (const int slot : request.slots) {
      if (InARow(job->second, slot, opened->second - kOnItsWay) < kMostFailedBoots) continue;
      Breach(request.job, process + " asks for one more machine where none can begin");
    }
  }

 private:
  void Breach(const std::string& job, const std::string& what) {
    world_.Breach("boots", what, job);
  }

  // Where a provider does not answer, why a machine could not begin may stay unknown; elsewhere,
  // another may do.
  bool AllIsHeard() const {
    const CloudFaults& noise = world_.plan().cloud;
    return noise.before + noise.after + noise.late + noise.throttled + noise.denied == 0 &&
           world_.plan().zones.size() == 1 && world_.cloud().LastAway() == 0;
  }

  // Machines of that node, up to the newest, that had powered off by then for what does not pass.
  int InARow(const Job& job, int slot, int64_t by) const {
    std::map<int, const CloudMachine*> machines;  // by launch
    for (const auto& [id, machine] : world_.cloud().machines()) {
      if (machine.owner == world_.number() && machine.request.job == job.id) {
        machines[machine.launch()] = &machine;
      }
    }
    int in_a_row = 0, most = 0;
    for (const Launch& launch : job.launches) {
      const auto found = machines.find(launch.number);
      if (launch.slot != slot || found == machines.end()) continue;
      const CloudMachine& machine = *found->second;
      if (machine.boot_failure && machine.boot_failure->lasts && machine.gone_at <= by) {
        most = std::max(most, ++in_a_row);
      } else if (launch.close_reason == CloseReason::kLost) {
        in_a_row = 0;
      }
    }
    return most;
  }

  static constexpr int64_t kOnItsWay = 60'000;
  World& world_;
  std::map<std::string, int64_t> heard_;   // by job: its first report
  std::map<std::string, int64_t> opened_;  // by token
};

}  // namespace

void AddBootChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<BootsThatFail>(world));
}

}  // namespace stoker::sim
