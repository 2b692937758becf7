// SPDX-License-Identifier: Apache-2.0
#include "node/cloud_node.h"

#include <utility>

#include "ledger/places.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/ec2/ec2_metadata.h"
#include "provider/ec2/ec2_platform.h"
#include "provider/ec2/ec2_provider.h"
#include "provider/gce/gce_metadata.h"
#include "provider/gce/gce_platform.h"
#include "provider/gce/gce_provider.h"

namespace stoker::node {
namespace {

constexpr char kBootIdFile[] = "/run/stoker/boot-id";

}  // namespace

bool CloudNode::IsOne(const std::string& dir) { return IsEc2Node(dir) || IsGceNode(dir); }

std::function<Result<std::optional<Duration>>()> CloudNode::DrillsOf(const std::string& job,
                                                                     const std::string& id) {
  return [this, id, job]() -> Result<std::optional<Duration>> {
    const std::lock_guard lock(mutex_);
    if (store_ == nullptr) return std::optional<Duration>();
    return ReadDrill(*store_, job, id);
  };
}

CloudNode::Tag CloudNode::Tagging() {
  return [this](const std::string& id, WallTime deadline) -> Status {
    Tag tag;
    {
      const std::lock_guard lock(tag_mutex_);
      tag = tag_;
    }
    if (!tag) return Status(Code::kUnavailable, "it is still starting");
    return tag(id, deadline);
  };
}

Result<std::unique_ptr<NodePlatform>> CloudNode::FindPlatform(const std::string& dir,
                                                              Clock& clock) {
  const auto common = [&](CloudPlatformOptions& options, const LaunchRequest& request,
                          const std::string& id) {
    options.dir = dir;
    options.instance_dir = cloud::kInstanceDir;
    options.boot_id_file = kBootIdFile;
    options.drill = DrillsOf(request.job, id);
    options.tag = Tagging();
    place_ = request.ask.place;
  };
  if (IsGceNode(dir)) {
    STOKER_ASSIGN(const LaunchRequest request, ReadGceLaunch(dir));
    GcePlatformOptions options;
    STOKER_ASSIGN(options.metadata, MakeGceMetadata(GceMetadataEndpoint()));
    STOKER_ASSIGN(const std::string name, options.metadata->Get("instance/name"));
    common(options, request, name);
    options.power_off = EndGceMachine;
    return MakeGcePlatform(std::move(options), clock);
  }
  STOKER_ASSIGN(const LaunchRequest request, ReadEc2Launch(dir));
  Ec2PlatformOptions options;
  STOKER_ASSIGN(options.metadata, MakeEc2Metadata({}, clock));
  STOKER_ASSIGN(const MachineIdentity me, options.metadata->Identity());
  common(options, request, me.instance_id);
  options.power_off = PowerOffBySystemd;
  return MakeEc2Platform(std::move(options), clock);
}

Status CloudNode::Use(Providers& providers, ObjectStore& store) {
  Tag tag;
  if (place_.provider == kGceProvider) {
    STOKER_ASSIGN(const auto api, providers.Compute());
    tag = [api, place = place_](const std::string& id, WallTime deadline) {
      return LabelExpiry(*api, place.account, place.zone, id, deadline);
    };
  } else {
    STOKER_ASSIGN(const auto api, providers.Aws());
    tag = [api, place = place_](const std::string& id, WallTime deadline) {
      return TagExpiry(*api, place.region, id, deadline);
    };
  }
  {
    const std::lock_guard lock(tag_mutex_);
    tag_ = std::move(tag);
  }
  const std::lock_guard lock(mutex_);
  store_ = &store;
  return Status::Ok();
}

void CloudNode::TellDoor(NodeReport& report) {
  // Each time: keys that an image had when the agent came up are replaced later in that boot.
  const cloud::SshDoor door = cloud::ReadSshDoor("");
  report.host_keys = door.host_keys;
  report.ssh_user = door.user;
}

void CloudNode::Leave() {
  const std::lock_guard lock(mutex_);
  store_ = nullptr;
}

}  // namespace stoker::node
