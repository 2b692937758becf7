// SPDX-License-Identifier: Apache-2.0
#include "node/ec2_node.h"

#include <utility>

#include "ledger/places.h"
#include "provider/ec2/ec2_boot.h"
#include "provider/ec2/ec2_host.h"
#include "provider/ec2/ec2_metadata.h"

namespace stoker::node {

Result<std::unique_ptr<HostPlatform>> Ec2Node::FindHost(const std::string& dir, Clock& clock) {
  STOKER_ASSIGN(const LaunchRequest request, ReadEc2Launch(dir));
  Ec2HostOptions options;
  options.dir = dir;
  options.instance_dir = ec2::kInstanceDir;
  options.boot_id_file = "/run/stoker/boot-id";
  STOKER_ASSIGN(options.metadata, MakeEc2Metadata({}, clock));
  STOKER_ASSIGN(const MachineIdentity me, options.metadata->Identity());
  options.drill = [this, id = me.instance_id,
                   job = request.job]() -> Result<std::optional<Duration>> {
    const std::lock_guard lock(mutex_);
    if (store_ == nullptr) return std::optional<Duration>();
    return ReadDrill(*store_, job, id);
  };
  options.tag = [this, region = request.ask.place.region](const std::string& id,
                                                          WallTime deadline) -> Status {
    ec2::AwsApi* const api = api_;
    if (api == nullptr) return Status(Code::kUnavailable, "it is still starting");
    return TagExpiry(*api, region, id, deadline);
  };
  options.power_off = PowerOffEc2;
  return MakeEc2Host(std::move(options), clock);
}

Status Ec2Node::Use(Providers& providers, ObjectStore& store) {
  STOKER_ASSIGN(owned_, providers.Aws());
  api_ = owned_.get();
  const std::lock_guard lock(mutex_);
  store_ = &store;
  return Status::Ok();
}

void Ec2Node::Leave() {
  const std::lock_guard lock(mutex_);
  store_ = nullptr;
}

}  // namespace stoker::node
