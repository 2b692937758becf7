// SPDX-License-Identifier: Apache-2.0
// What is asked of a cluster beside machines (`--infra slurm/…`).
#pragma once

#include <memory>

#include "port/broker.h"

namespace stoker {

inline constexpr BrokerTraits kSlurmBroker{.name = "slurm",
                                           .title = "Slurm",
                                           .machines = "nodes of Slurm",
                                           .infra = {.word = "slurm",
                                                     .most = 1,
                                                     .form = "slurm or slurm/PARTITION",
                                                     .meaning = "a cluster that Slurm runs"},
                                           .reads_owner = true,
                                           .runs_containers = true};

std::unique_ptr<Broker> MakeSlurmBroker(const ProviderOptions& options, Clock& clock);

}  // namespace stoker
