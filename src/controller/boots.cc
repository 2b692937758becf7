// SPDX-License-Identifier: Apache-2.0
// Machines that are over before their node was heard of: what they have said themselves of why.
#include <algorithm>

#include "controller/controller.h"

namespace stoker {

void Controller::ObserveBoots(const Job& job, Observed* seen) {
  for (MachineSeen& machine : seen->machines) {
    const Launch* launch = FindLaunch(job, machine.launch);
    const bool over =
        machine.state == MachineState::kGone || machine.state == MachineState::kStopped;
    if (!over || launch == nullptr || launch->closed) continue;
    // Its owner or its place is known to have ended it. (One that ended itself is "other".)
    const EndedBy by = machine.ended_by;
    if (machine.refusal || by == EndedBy::kOwner || by == EndedBy::kPlatform) continue;
    const auto its = [&](const ReportSeen& seen) { return seen.report.launch == launch->number; };
    if (std::any_of(seen->reports.begin(), seen->reports.end(), its)) continue;
    const Request* request = FindRequest(job, launch->request);
    if (request == nullptr) continue;
    const auto provider = ProviderOf(job, request->ask.place.provider);
    if (!provider.ok()) continue;
    // It is given up all the same: not to know why costs one more machine, and to start it again
    // would cost more.
    auto why = (*provider)->WhyNotBooted(machine.instance_id, request->ask);
    if (why.ok()) {
      machine.boot = *std::move(why);
    } else if (machine.state == MachineState::kStopped && why.status().Is(Code::kDenied)) {
      machine.boot = BootFailure{"why cannot be read: " + why.status().ToString(), false};
    }
  }
}

}  // namespace stoker
