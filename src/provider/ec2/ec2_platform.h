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

// For the agent of this machine, whose node has the folder `dir`; null: it is no machine of EC2.
// Errors: those of MakeEc2Platform and of MakeAwsApi.
Result<std::unique_ptr<NodePlatform>> FindEc2Platform(const std::string& dir, Clock& clock);

// Asks the metadata service who it is, so that must answer. Errors: those of the service and of
// what user-data left. `clock` must outlive it.
Result<std::unique_ptr<NodePlatform>> MakeEc2Platform(Ec2PlatformOptions options, Clock& clock);

}  // namespace stoker
