// SPDX-License-Identifier: Apache-2.0
// An instance of EC2, seen from its agent: what its user-data left on its disk, its metadata, its
// lease, its power.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "port/clock.h"
#include "port/node_platform.h"
#include "provider/cloud/cloud_platform.h"
#include "provider/ec2/ec2_metadata.h"

namespace stoker {

// Its `notice` and `advice` are asked of `metadata`.
struct Ec2PlatformOptions : CloudPlatformOptions {
  std::unique_ptr<Ec2Metadata> metadata;
};

inline constexpr Duration kMaintenanceNotice = Duration::Minutes(15);

// Was the machine whose node has this folder made by EC2?
bool IsEc2Node(const std::string& dir);

// What it was created from. Errors: those of cloud::ParseLaunch, and of files.
Result<LaunchRequest> ReadEc2Launch(const std::string& dir);

// Asks the metadata service who it is, so that must answer. Errors: those of the service and of
// what user-data left. `clock` must outlive it.
Result<std::unique_ptr<NodePlatform>> MakeEc2Platform(Ec2PlatformOptions options, Clock& clock);

}  // namespace stoker
