// SPDX-License-Identifier: Apache-2.0
// Every provider that this stoker has, by name, each made when it is first asked for. The one place
// that knows which there are: commands and agents ask here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/clock.h"
#include "port/object_store.h"
#include "port/provider.h"
#include "provider/ec2/ec2_provider.h"
#include "provider/gce/gce_provider.h"
#include "provider/local/local_provider.h"
#include "provider/ssh/ssh_provider.h"

namespace stoker {

struct ProviderOptions {
  std::string state_dir;  // e.g. ~/.local/share/stoker: local machines, binaries, what is private
  std::string cache_dir;  // for what may be looked up again, e.g. ~/.cache/stoker; "" = none
  // Out of the settings; not known to a node.
  std::string slurm_login;                                // a host for ssh; "" = none
  std::map<std::string, std::vector<std::string>> pools;  // of ssh, by name
  // Where providers note what all who look must know; empty: of those that need it there are none.
  std::function<Result<ObjectStore*>()> store{};
};

// Not thread-safe; what Get gives is. `clock` must outlive it, and it what it gave.
class Providers {
 public:
  Providers(ProviderOptions options, Clock& clock);
  ~Providers();

  // kInvalid: there is none of that name. Others: it cannot be made here (no rights, no program).
  Result<Provider*> Get(const std::string& name);
  // Machines of this computer.
  Result<LocalProvider*> Local();
  // Whoever speaks with Amazon. Errors: those of MakeAwsApi.
  Result<std::shared_ptr<ec2::AwsApi>> Aws();
  // Whoever speaks with Compute Engine. Errors: those of MakeComputeApi.
  Result<std::shared_ptr<gce::ComputeApi>> Compute();
  // Boxes of pools.
  Result<SshProvider*> Ssh();

 private:
  Result<std::unique_ptr<Provider>> Make(const std::string& name);

  const ProviderOptions options_;
  Clock& clock_;
  std::unique_ptr<LocalProvider> local_;
  std::unique_ptr<SshProvider> ssh_;
  std::shared_ptr<ec2::AwsApi> aws_;
  std::shared_ptr<gce::ComputeApi> compute_;
  std::map<std::string, std::unique_ptr<Provider>> others_;
};

}  // namespace stoker
