// SPDX-License-Identifier: Apache-2.0
// What is asked of pools of boxes beside machines (`--infra ssh/…`).
#pragma once

#include <memory>

#include "port/broker.h"

namespace stoker {

inline constexpr BrokerTraits kSshBroker{.name = "ssh",
                                         .title = "boxes",
                                         .machines = "machines on boxes",
                                         .infra = {.word = "ssh",
                                                   .least = 1,
                                                   .most = 1,
                                                   .form = "ssh/POOL",
                                                   .meaning = "machines that ssh reaches"},
                                         .elsewhere = true,
                                         .may_be_here = true,
                                         .has_line = true,
                                         .nodes_stay_alone = true,
                                         .runs_containers = true,
                                         .secrets_also_on = "the boxes that run the job"};

std::unique_ptr<Broker> MakeSshBroker(const ProviderOptions& options, Clock& clock);

}  // namespace stoker
