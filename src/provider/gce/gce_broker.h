// SPDX-License-Identifier: Apache-2.0
// What is asked of Compute Engine beside machines (`--infra gcp/…`).
#pragma once

#include <functional>
#include <memory>

#include "port/broker.h"

namespace stoker {

namespace gce {
class ComputeApi;
}

inline constexpr BrokerTraits kGceBroker{.name = "gce",
                                         .title = "Google",
                                         .machines = "machines of Google",
                                         .rents = true,
                                         .elsewhere = true,
                                         .answers_late = true};

// `api` makes it when it is first asked, and gives the same one each time.
std::unique_ptr<Broker> MakeGceBroker(
    const ProviderOptions& options, Clock& clock,
    std::function<Result<std::shared_ptr<gce::ComputeApi>>()> api);

}  // namespace stoker
