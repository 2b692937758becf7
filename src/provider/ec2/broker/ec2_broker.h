// SPDX-License-Identifier: Apache-2.0
// What is asked of EC2 beside machines (`--infra aws/…`).
#pragma once

#include <memory>

#include "port/broker.h"

namespace stoker {

inline constexpr BrokerTraits kEc2Broker{.name = "ec2",
                                         .title = "EC2",
                                         .machines = "machines of EC2",
                                         .infra = {.word = "aws",
                                                   .most = 2,
                                                   .form = "aws, aws/REGION or aws/ZONE",
                                                   .meaning = "machines of Amazon EC2",
                                                   .makes = true},
                                         .rents = true,
                                         .elsewhere = true,
                                         .tells_prices = true,
                                         .runs_containers = true,
                                         .vaults = "ssm aws-secret",
                                         .vault_of_region = true};

// It needs credentials once it is asked for anything.
std::unique_ptr<Broker> MakeEc2Broker(const ProviderOptions& options, Clock& clock);

}  // namespace stoker
