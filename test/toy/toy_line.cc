// SPDX-License-Identifier: Apache-2.0
// The line of the registry (provider/registry.cc), in a program of its own: what ships has no toy.
#include "provider/registry.h"
#include "test/toy/toy.h"

namespace stoker::toy {

const bool kIsAdded =
    AddProvider({kToyBroker, MakeToyBroker, FindToyPlatform, {{kMachineVerb, ToyMachineMain}}});

}  // namespace stoker::toy
