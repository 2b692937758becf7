// SPDX-License-Identifier: Apache-2.0
// What an instance is told at its start: user-data, a pure function of the request's entry. Source:
// "Run commands when you launch an EC2 instance with user data input" (EC2 user guide);
// cloud-init's "bootcmd".
#pragma once

#include <string>

#include "base/status.h"
#include "port/provider.h"
#include "provider/ec2/ec2_options.h"

namespace stoker::ec2 {

// In cloud::kNodeDir: what the machine was created from.
inline constexpr char kLaunchFile[] = "ec2.json";

// A #cloud-config that, at every boot, arms the end of the lease and starts the agent; at the first
// one it fetches the binary by its digest with the role of the instance, out of a bucket of S3 or,
// where Google knows that role (Options::google_identity), of Google's. It has no secret. kInvalid:
// the store is none of these.
Result<std::string> UserData(const LaunchRequest& request, const Options& options);

}  // namespace stoker::ec2
