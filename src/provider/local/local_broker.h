// SPDX-License-Identifier: Apache-2.0
// What is asked of this computer beside machines.
#pragma once

#include <memory>

#include "port/broker.h"
#include "provider/local/local_provider.h"

namespace stoker {

inline constexpr BrokerTraits kLocalBroker{
    .name = kLocalProvider,
    .title = "this machine",
    .machines = "machines of this computer",
    .infra = {.word = kThisMachine, .form = kThisMachine, .meaning = "this machine"},
    .has_line = true,
    .runs_containers = true};

class LocalBroker : public Broker {
 public:
  // Machines(), with what they have beyond the port.
  virtual Result<LocalProvider*> Local() = 0;
};

std::unique_ptr<Broker> MakeLocalBroker(const ProviderOptions& options, AllocationGate gate,
                                        Clock& clock);

}  // namespace stoker
