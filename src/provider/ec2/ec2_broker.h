// SPDX-License-Identifier: Apache-2.0
// What is asked of EC2 beside machines (`--infra aws/…`).
#pragma once

#include <functional>
#include <memory>

#include "port/broker.h"

namespace stoker {

namespace ec2 {
class AwsApi;
}

inline constexpr BrokerTraits kEc2Broker{.name = "ec2",
                                         .title = "EC2",
                                         .machines = "machines of EC2",
                                         .rents = true,
                                         .elsewhere = true,
                                         .tells_prices = true};

// `api` makes it when it is first asked, and gives the same one each time; it is asked for as late
// as can be, since it needs credentials.
std::unique_ptr<Broker> MakeEc2Broker(const ProviderOptions& options, Clock& clock,
                                      std::function<Result<std::shared_ptr<ec2::AwsApi>>()> api);

}  // namespace stoker
