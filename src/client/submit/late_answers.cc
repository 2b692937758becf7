// SPDX-License-Identifier: Apache-2.0
#include "client/submit/late_answers.h"

#include <unistd.h>

#include <algorithm>

namespace stoker::client {
namespace {

constexpr Duration kHearWithin = Duration::Seconds(60);
constexpr useconds_t kBetweenLooks = 500'000;

bool MayComeLate(const Request& request) {
  const BrokerTraits* const traits = TraitsOf(request.ask.place.provider);
  return traits != nullptr && traits->answers_late;
}

// The first that may.
std::string Latecomer(const Job& job) {
  for (const Launch& launch : job.launches) {
    const Request& request = RequestOf(job, launch);
    if (!launch.closed && MayComeLate(request)) return TraitsOf(request.ask.place.provider)->title;
  }
  return "";
}

// An open launch whose machine may still be refused, or is not there.
Result<bool> AnyIsOpen(Client& client, const PassResult& pass) {
  for (const Launch& launch : pass.job.launches) {
    const Request& request = RequestOf(pass.job, launch);
    if (launch.closed || !MayComeLate(request)) continue;
    const bool seen =
        std::any_of(pass.machines.begin(), pass.machines.end(), [&](const MachineSeen& machine) {
          return machine.launch == launch.number && machine.state != MachineState::kGone;
        });
    if (!seen) return true;
    STOKER_ASSIGN(Broker * broker, client.broker(request.ask.place.provider));
    STOKER_ASSIGN(const bool may, broker->MayStillRefuse(request.token));
    if (may) return true;
  }
  return false;
}

bool IsOver(const PassResult& pass) { return IsFinal(pass.job.state) || pass.job.cancel; }

}  // namespace

Result<PassResult> AwaitLateAnswers(Client& client, Controller& controller, PassResult pass) {
  const MonoTime end = client.clock().Mono() + kHearWithin;
  bool said = false;
  for (;;) {
    const auto open = AnyIsOpen(client, pass);
    if (IsOver(pass) || (open.ok() && !*open)) return pass;
    if (!open.ok() && !open.status().transient()) return pass;
    if (client.clock().Mono() > end) {
      client.Say(
          "it is not known yet whether there is room; who looks at the job hears it: stoker "
          "show " +
          pass.job.id);
      return pass;
    }
    if (!said) {
      client.Say(Latecomer(pass.job) + " says only now whether it has room: waiting " +
                 HumanDuration(kHearWithin) + " at most");
    }
    said = true;
    ::usleep(kBetweenLooks);
    auto next = controller.Pass(pass.job.id);
    if (!next.ok()) return next;
    pass = std::move(*next);
  }
}

}  // namespace stoker::client
