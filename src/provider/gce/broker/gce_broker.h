// SPDX-License-Identifier: Apache-2.0
// What is asked of Compute Engine beside machines (`--infra gcp/…`).
#pragma once

#include <memory>

#include "port/broker.h"

namespace stoker {

inline constexpr BrokerTraits kGceBroker{.name = "gce",
                                         .title = "Google",
                                         .machines = "machines of Google",
                                         .infra = {.word = "gcp",
                                                   .most = 2,
                                                   .form = "gcp, gcp/REGION or gcp/ZONE",
                                                   .meaning = "machines of Google Compute Engine",
                                                   .makes = true},
                                         .rents = true,
                                         .elsewhere = true,
                                         .answers_late = true,
                                         .runs_containers = true,
                                         .vaults = "gcp-secret"};

// It needs credentials once it is asked for anything.
std::unique_ptr<Broker> MakeGceBroker(const ProviderOptions& options, Clock& clock);

}  // namespace stoker
