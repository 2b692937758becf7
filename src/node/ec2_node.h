// SPDX-License-Identifier: Apache-2.0
// An agent on a machine of EC2: what its host can do only once the agent has opened its store and
// its providers.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"
#include "ledger/ledger.h"
#include "port/clock.h"
#include "port/host_platform.h"
#include "port/object_store.h"
#include "provider/ec2/ec2_provider.h"
#include "provider/open.h"

namespace stoker::node {

// Outlives the host that it finds.
class Ec2Node {
 public:
  // `dir`: the node's folder. Errors: those of MakeEc2Host.
  Result<std::unique_ptr<HostPlatform>> FindHost(const std::string& dir, Clock& clock);
  // From now on drills are heard and leases moved. `store` outlives all that use the host. Errors:
  // those of Providers::Aws.
  Status Use(Providers& providers, ObjectStore& store);
  // The machine is shutting down. Where a person ends it by EC2's own tools, that is a cancel of
  // its job: written down, unless its launch is closed, before anybody asks for a successor. Takes
  // two seconds at most; what comes later, or is not allowed to look, is a notice like any other.
  void HeedOwner(Ledger& ledger, const HostIdentity& me);
  // Before `store` ends: nothing asks it from now on. Waits for what asks it now.
  void Leave();

 private:
  std::mutex mutex_;  // held while the store is asked
  ObjectStore* store_ = nullptr;
  std::atomic<ec2::AwsApi*> api_{nullptr};
  std::shared_ptr<ec2::AwsApi> owned_;
  std::thread owner_;  // asks who ends the machine
};

}  // namespace stoker::node
