// SPDX-License-Identifier: Apache-2.0
#include "client/preempt.h"

#include "base/text.h"
#include "job/notice.h"

namespace stoker::client {
namespace {

// The newest attempt that has begun: its machines are the ones that train.
const Attempt* Current(const Job& job) {
  const Attempt* current = nullptr;
  for (const Attempt& attempt : job.attempts) {
    if (attempt.state != AttemptState::kEnded && attempt.state != AttemptState::kProvisioning) {
      current = &attempt;
    }
  }
  return current;
}

// Its machines of that launch that are up, each with its notice.
Status Notify(Client& client, const PassResult& pass, int launch, int node, Duration lead,
              std::vector<Preempted>* told) {
  for (const MachineSeen& machine : pass.machines) {
    const bool up =
        machine.state == MachineState::kStarting || machine.state == MachineState::kRunning;
    if (machine.launch != launch || !up) continue;
    const Request& request = RequestOf(pass.job, *FindLaunch(pass.job, launch));
    STOKER_ASSIGN(Provider * provider, client.provider(request.ask.place.provider));
    STOKER_TRY(provider->Interrupt(machine.instance_id, lead));
    told->push_back({node, machine.instance_id});
    client.Say("node " + std::to_string(node) + " has its notice: it will be taken in " +
               FormatDuration(lead));
  }
  return Status::Ok();
}

}  // namespace

Result<std::vector<Preempted>> Preempt(Client& client, const PreemptWish& wish) {
  if (wish.lead > kMostLead) {
    return Status(Code::kUsage,
                  "--in " + FormatDuration(wish.lead) + ": a notice lasts 7d at most");
  }
  STOKER_ASSIGN(Controller * controller, client.controller());
  STOKER_ASSIGN(const PassResult pass, controller->Pass(wish.job));
  const Attempt* attempt = Current(pass.job);
  const Status idle(
      Code::kInvalid,
      "job " + wish.job + " has no machine to take: it is " + std::string(Name(pass.job.state)),
      "'stoker show " + wish.job + "' says what it does");
  if (attempt == nullptr) return idle;
  const int nodes = static_cast<int>(attempt->launches.size());
  if (wish.node >= nodes) {
    return Status(Code::kUsage, "--node " + std::to_string(wish.node) +
                                    ": the job has nodes 0 to " + std::to_string(nodes - 1));
  }
  std::vector<Preempted> told;
  for (int rank = 0; rank < nodes; ++rank) {
    if (wish.node >= 0 && rank != wish.node) continue;
    const int launch = attempt->launches[static_cast<size_t>(rank)];
    STOKER_TRY(Notify(client, pass, launch, rank, wish.lead, &told));
  }
  if (told.empty()) return idle;
  return told;
}

}  // namespace stoker::client
