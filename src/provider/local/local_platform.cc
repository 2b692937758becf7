// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_platform.h"

#include <utility>

#include "provider/local/local_boot.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr Duration kMoment = Duration::Seconds(1);

// Of a machine's folder, the state folder that it is in.
std::string StateOf(const std::string& dir) {
  const size_t at = dir.rfind("/instances/");
  return at == std::string::npos ? dir : dir.substr(0, at);
}

class LocalPlatform : public NodePlatform {
 public:
  using NodePlatform::NodePlatform;

  // What cannot be read at this moment is none: three errors in a row would count as a machine that
  // is going.
  Result<std::optional<Notice>> PollNotice() override {
    return ReadLocalNotice(identity_.dir).value_or(std::nullopt);
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
};

}  // namespace

Result<std::unique_ptr<NodePlatform>> FindLocalPlatform(const std::string& dir, Clock& /*clock*/) {
  if (!sys::FileExists(dir + "/boot.json")) return std::unique_ptr<NodePlatform>();
  STOKER_ASSIGN(LocalBoot boot, ReadLocalBoot(dir));
  STOKER_ASSIGN(const LocalMachineInfo machine, ReadLocalMachineInfo(dir));
  NodeIdentity identity;
  identity.request = std::move(boot.request);
  identity.launch = boot.launch;
  identity.index = boot.index;
  identity.instance_id = std::move(boot.instance_id);
  identity.boot_id = sys::BootId();
  identity.address = boot.address.empty() ? machine.address : boot.address;
  identity.dir = dir;
  PlatformTraits traits;
  traits.state_dir = StateOf(dir);
  traits.work_dir = traits.state_dir + "/work";
  traits.shared = true;
  return std::unique_ptr<NodePlatform>(
      std::make_unique<LocalPlatform>(std::move(identity), traits));
}

}  // namespace stoker
