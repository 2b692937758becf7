// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "port/clock.h"
#include "port/metadata_service.h"

namespace stoker {

struct Ec2MetadataOptions {
  std::string endpoint = "http://169.254.169.254";
  Duration timeout = Duration::Seconds(1);  // of each request
};

// EC2's instance metadata, version 2 (token first), as also a local instance serves it. Source of
// the protocol: "Use IMDSv2" and "Spot Instance interruption notices" of the EC2 user guide.
// Errors: kUnavailable, kTimeout; kCorrupt = it answers what it should not. `clock` must outlive
// it. kInvalid when `endpoint` is no http:// address.
Result<std::unique_ptr<MetadataService>> MakeEc2Metadata(const Ec2MetadataOptions& options,
                                                         Clock& clock);

}  // namespace stoker
