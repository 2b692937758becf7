// SPDX-License-Identifier: Apache-2.0
// What is asked of this computer beside machines.
#pragma once

#include <functional>
#include <memory>

#include "port/broker.h"
#include "provider/local/local_provider.h"

namespace stoker {

inline constexpr BrokerTraits kLocalBroker{.name = kLocalProvider,
                                           .title = "this machine",
                                           .machines = "machines of this computer",
                                           .has_line = true};

// `machines` makes them when they are first asked for, and gives the same each time.
std::unique_ptr<Broker> MakeLocalBroker(const ProviderOptions& options,
                                        std::function<Result<LocalProvider*>()> machines);

}  // namespace stoker
