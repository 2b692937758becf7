// SPDX-License-Identifier: Apache-2.0
// Machines that were stopped: nothing runs on them, but they cost, and may come up again by
// themselves. One whose node has begun is given up and ended like one that is lost, since its
// program is dead whatever becomes of it. One that has begun nothing is asked to come up, where its
// provider does that, as long as its request's time lasts (docs/decisions/0021).
#include <map>

#include "base/deliberate_bug.h"
#include "reconcile/pass.h"

namespace stoker::reconcile_internal {

bool MayBeStarted(const Pass& pass, const Launch& launch) {
  const bool begun = HasBegun(pass, launch) && !BugIsOn("begun-is-started");
  return pass.Place(launch).can_start && !begun && !pass.out.job.cancel &&
         pass.seen.now <= pass.RequestOf(launch).not_after + kReportWithin;
}

void ChooseStarts(Pass& pass) {
  Job& job = pass.job();
  if (IsFinal(job.state)) return;
  std::map<int, std::vector<const MachineSeen*>> stopped;  // by request
  for (const Launch& launch : job.launches) {
    const MachineSeen* machine = launch.closed ? nullptr : pass.Machine(launch.number);
    if (machine == nullptr || machine->state != MachineState::kStopped) continue;
    if (MayBeStarted(pass, launch)) stopped[launch.request].push_back(machine);
  }
  for (const auto& [number, machines] : stopped) {
    Request* const request = FindRequest(job, number);
    // One of all who look asks: whose write moves the next try.
    if (request == nullptr || (request->next_try && pass.seen.now < *request->next_try)) continue;
    request->next_try = pass.seen.now + kStartPause;
    for (const MachineSeen* machine : machines) {
      pass.out.start.push_back({request->ask.place.provider, machine->instance_id});
      pass.Changed(machine->instance_id + " is stopped: it is asked to come up again");
    }
  }
}

}  // namespace stoker::reconcile_internal
