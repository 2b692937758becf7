// SPDX-License-Identifier: Apache-2.0
// A provider that is small enough to read: a machine is a process of this computer, with a folder
// "<state>/toy/<id>". docs/adding-a-provider.md explains it.
#pragma once

#include <memory>
#include <string>

#include "port/broker.h"
#include "port/node_platform.h"
#include "port/provider.h"

namespace stoker::toy {

inline constexpr char kMachineVerb[] = "__toy";  // stoker_toy __toy FOLDER
inline constexpr BrokerTraits kToyBroker{
    .name = "toy",
    .title = "Toy",
    .machines = "machines of Toy",
    .infra = {.word = "toy", .most = 1, .form = "toy or toy/SHELF", .meaning = "toy machines"}};

std::unique_ptr<Provider> MakeToyProvider(const std::string& state_dir, Clock& clock);
std::unique_ptr<Broker> MakeToyBroker(const ProviderOptions& options, Clock& clock);
Result<std::unique_ptr<NodePlatform>> FindToyPlatform(const std::string& dir, Clock& clock);
// The process of a machine: keeps its agent until the machine is over.
int ToyMachineMain(const std::string& folder);

}  // namespace stoker::toy
