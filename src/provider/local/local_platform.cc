// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_platform.h"

#include <mutex>
#include <utility>

#include "provider/local/local_boot.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr Duration kMoment = Duration::Seconds(1);

class LocalHost : public NodePlatform {
 public:
  LocalHost(NodeIdentity identity, std::unique_ptr<MetadataService> metadata)
      : identity_(std::move(identity)), metadata_(std::move(metadata)) {}

  const NodeIdentity& identity() const override { return identity_; }

  Result<std::optional<Notice>> PollNotice() override {
    const std::lock_guard lock(mutex_);
    return metadata_->PollNotice();
  }

  Result<std::optional<PlatformAdvice>> PollAdvice() override {
    return std::optional<PlatformAdvice>();
  }

  // Whoever started this machine wrote a lease just now: to move that by less than a second is not
  // worth a file.
  Status Renew(WallTime deadline) override {
    const auto held = ReadLocalLease(identity_.dir);
    if (held.ok() && *held <= deadline && deadline - *held < kMoment) return Status::Ok();
    return RenewLocalLease(identity_.dir, deadline);
  }

  // The machine process ends when its agent has ended well. It hears of it a moment before, and may
  // let the next one begin.
  Status PowerOff(const std::string& why) override { return WriteLocalReason(identity_.dir, why); }

 private:
  const NodeIdentity identity_;
  std::mutex mutex_;
  const std::unique_ptr<MetadataService> metadata_;
};

}  // namespace

Result<std::unique_ptr<NodePlatform>> MakeLocalPlatform(const std::string& dir,
                                                        std::unique_ptr<MetadataService> metadata) {
  STOKER_ASSIGN(LocalBoot boot, ReadLocalBoot(dir));
  STOKER_ASSIGN(const MachineIdentity me, metadata->Identity());
  NodeIdentity identity;
  identity.request = std::move(boot.request);
  identity.launch = boot.launch;
  identity.index = boot.index;
  identity.instance_id = std::move(boot.instance_id);
  identity.boot_id = sys::BootId();
  identity.address = me.address;
  identity.dir = dir;
  return std::unique_ptr<NodePlatform>(
      std::make_unique<LocalHost>(std::move(identity), std::move(metadata)));
}

std::string LocalStateDir(const std::string& dir) {
  const size_t at = dir.rfind("/instances/");
  return at == std::string::npos ? dir : dir.substr(0, at);
}

}  // namespace stoker
