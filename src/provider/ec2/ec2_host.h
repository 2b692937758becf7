// SPDX-License-Identifier: Apache-2.0
// An instance of EC2, seen from its agent: what its user-data left on its disk, its metadata, its
// lease, its power.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "port/clock.h"
#include "port/host_platform.h"
#include "provider/ec2/ec2_metadata.h"

namespace stoker {

struct Ec2HostOptions {
  std::string dir;           // the node's folder; ec2/ec2_boot.h says what user-data left in it
  std::string instance_dir;  // where the lease is
  std::string boot_id_file;  // below /run: gone with each boot
  std::unique_ptr<Ec2Metadata> metadata;
  // Whether somebody asked for a fire drill of this machine, and how long it has then. May take
  // long: a thread of the host's own asks, so that no other notice waits for it. Empty = nobody
  // can.
  std::function<Result<std::optional<Duration>>()> drill;
  Duration drill_every = Duration::Seconds(10);
  // Writes the end of the lease where everybody who clears up sees it; as the instance's own role
  // may. Empty = may not.
  std::function<Status(const std::string& instance_id, WallTime deadline)> tag;
  // Ends this machine for good, in order: what runs is told first.
  std::function<Status(const std::string& why)> power_off;
};

inline constexpr Duration kLeaseNotice = Duration::Minutes(15);
inline constexpr Duration kMaintenanceNotice = Duration::Minutes(15);

// Was the machine whose node has this folder made by EC2?
bool IsEc2Node(const std::string& dir);

// What it was created from. Errors: those of ec2::ParseLaunch, and of files.
Result<LaunchRequest> ReadEc2Launch(const std::string& dir);

// Asks the metadata service who it is, so that must answer. Errors: those of the service and of
// what user-data left. `clock` must outlive it.
Result<std::unique_ptr<HostPlatform>> MakeEc2Host(Ec2HostOptions options, Clock& clock);

// By systemd; what is said goes to the console, too.
Status PowerOffEc2(const std::string& why);

}  // namespace stoker
