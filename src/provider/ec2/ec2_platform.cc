// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_platform.h"

#include <optional>
#include <utility>

#include "provider/cloud/cloud_launch.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/ec2_boot.h"
#include "provider/ec2/ec2_provider.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr int64_t kMostFile = 64 << 10;
constexpr Duration kMaintenanceEvery = Duration::Minutes(1);

// What the metadata service says of the machine's end.
class Ec2Notices {
 public:
  Ec2Notices(std::unique_ptr<Ec2Metadata> metadata, Clock& clock)
      : metadata_(std::move(metadata)), clock_(clock) {}

  Result<std::optional<Notice>> First() {
    STOKER_ASSIGN(std::optional<Notice> first, metadata_->PollNotice());
    const std::optional<Notice> planned = Maintenance();
    if (planned && (!first || planned->until < first->until)) first = planned;
    return first;
  }

  Result<std::optional<PlatformAdvice>> Advice() {
    STOKER_ASSIGN(const std::optional<WallTime> since, metadata_->PollRebalance());
    if (!since) return std::optional<PlatformAdvice>();
    return std::optional(PlatformAdvice{"rebalance", *since});
  }

 private:
  // One that is far away is no reason to move yet; a service that does not know them is none to
  // hold up the others.
  std::optional<Notice> Maintenance() {
    const MonoTime now = clock_.Mono();
    if (now >= ask_maintenance_) {
      const auto planned = metadata_->PollMaintenance();
      if (planned.ok()) maintenance_ = *planned;
      ask_maintenance_ = now + kMaintenanceEvery;
    }
    const bool soon = maintenance_ && maintenance_->until - clock_.Wall() <= kMaintenanceNotice;
    return soon ? maintenance_ : std::nullopt;
  }

  const std::unique_ptr<Ec2Metadata> metadata_;
  Clock& clock_;
  std::optional<Notice> maintenance_;
  MonoTime ask_maintenance_;
};

// What the machine was created from.
Result<LaunchRequest> ReadEc2Launch(const std::string& dir) {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(dir + "/" + ec2::kLaunchFile, kMostFile));
  return cloud::ParseLaunch(text, kEc2Provider);
}

}  // namespace

Result<std::unique_ptr<NodePlatform>> FindEc2Platform(const std::string& dir, Clock& clock) {
  if (!sys::FileExists(dir + "/" + ec2::kLaunchFile)) return std::unique_ptr<NodePlatform>();
  STOKER_ASSIGN(const LaunchRequest request, ReadEc2Launch(dir));
  STOKER_ASSIGN(const auto api, MakeAwsApi());
  Ec2PlatformOptions options;
  STOKER_ASSIGN(options.metadata, MakeEc2Metadata({}, clock));
  STOKER_ASSIGN(const MachineIdentity me, options.metadata->Identity());
  UseCloudFolders(dir, request, me.instance_id, &options);
  const std::string region = request.ask.place.region;
  options.tag = [api, region](const std::string& id, WallTime deadline) {
    return TagExpiry(*api, region, id, deadline);
  };
  options.power_off = PowerOffBySystemd;
  return MakeEc2Platform(std::move(options), clock);
}

Result<std::unique_ptr<NodePlatform>> MakeEc2Platform(Ec2PlatformOptions options, Clock& clock) {
  NodeIdentity me;
  STOKER_ASSIGN(me.request, ReadEc2Launch(options.dir));
  STOKER_ASSIGN(const MachineIdentity told, options.metadata->Identity());
  STOKER_ASSIGN(me.index, options.metadata->LaunchIndex());
  me.instance_id = told.instance_id;
  me.address = told.address;
  auto notices = std::make_shared<Ec2Notices>(std::move(options.metadata), clock);
  CloudPlatformOptions common = std::move(options);
  common.notice = [notices] { return notices->First(); };
  common.advice = [notices] { return notices->Advice(); };
  return MakeCloudPlatform(std::move(me), std::move(common), clock);
}

}  // namespace stoker
