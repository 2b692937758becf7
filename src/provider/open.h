// SPDX-License-Identifier: Apache-2.0
// Every provider that this stoker has, each made when it is first asked for. The one place that
// knows which there are: commands and agents ask here.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "port/broker.h"
#include "port/clock.h"
#include "port/provider.h"
#include "provider/local/local_provider.h"

namespace stoker {

namespace ec2 {
class AwsApi;
}
namespace gce {
class ComputeApi;
}

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
  // Machines of this computer.
  Result<LocalProvider*> Local();
  // Whoever speaks with Amazon. Errors: those of MakeAwsApi.
  Result<std::shared_ptr<ec2::AwsApi>> Aws();
  // Whoever speaks with Compute Engine. Errors: those of MakeComputeApi.
  Result<std::shared_ptr<gce::ComputeApi>> Compute();

  const ProviderOptions& options() const { return options_; }
  Clock& clock() { return clock_; }

 private:
  const ProviderOptions options_;
  Clock& clock_;
  std::unique_ptr<LocalProvider> local_;
  std::shared_ptr<ec2::AwsApi> aws_;
  std::shared_ptr<gce::ComputeApi> compute_;
  std::vector<std::unique_ptr<Broker>> brokers_;  // by line of the registry; null: not made yet
};

}  // namespace stoker
