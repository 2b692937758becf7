// SPDX-License-Identifier: Apache-2.0
// Every provider of the registry, each made when it is first asked for.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "port/away.h"
#include "port/broker.h"
#include "port/clock.h"
#include "port/provider.h"
#include "provider/local/local_provider.h"

namespace stoker {

// Null: there is none of that name.
const BrokerTraits* TraitsOf(std::string_view provider);

// Not thread-safe; what Get gives is. `clock` must outlive it, and it what it gave.
class Providers {
 public:
  Providers(ProviderOptions options, Clock& clock);
  ~Providers();

  // In the order in which people see them.
  std::vector<Broker*> All();
  // kInvalid: there is none of that name.
  Result<Broker*> At(std::string_view name);
  // At(name)->Machines().
  Result<Provider*> Get(const std::string& name);
  // What can look after jobs at the provider of that name while nobody is at a desk. Errors as At;
  // kInvalid: nothing can there; and it cannot be asked.
  Result<AwayHost*> Away(std::string_view name);
  // Machines of this computer.
  Result<LocalProvider*> Local();

 private:
  const ProviderOptions options_;
  Clock& clock_;
  std::vector<std::unique_ptr<AwayHost>> hosts_;  // as brokers_
  std::vector<std::unique_ptr<Broker>> brokers_;  // by line of the registry; null: not made yet
};

}  // namespace stoker
