// SPDX-License-Identifier: Apache-2.0
// What an instance of EC2 can learn about itself from its metadata service.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "job/notice.h"
#include "port/clock.h"

namespace stoker {

struct MachineIdentity {
  std::string instance_id;
  std::string address;
};

struct Ec2MetadataOptions {
  std::string endpoint = "http://169.254.169.254";
  Duration timeout = Duration::Seconds(1);  // of each request
};

// Not thread-safe: one per polling thread.
class Ec2Metadata {
 public:
  virtual ~Ec2Metadata() = default;
  // Asks now. nullopt = no notice at this moment (a former one was withdrawn).
  virtual Result<std::optional<Notice>> PollNotice() = 0;
  virtual Result<MachineIdentity> Identity() = 0;
  // Which of the machines of its request this is.
  virtual Result<int> LaunchIndex() = 0;
  // Since when the machine is likelier than usual to be taken; nullopt: it is not.
  virtual Result<std::optional<WallTime>> PollRebalance() = 0;
  // The first of the maintenances that are planned and not over: what will be done, and when it
  // may begin. Source: "Scheduled events for your instances" (EC2 user guide).
  virtual Result<std::optional<Notice>> PollMaintenance() = 0;
};

// EC2's instance metadata, version 2 (token first). Source of the protocol: "Use IMDSv2",
// "Spot Instance interruption notices" and "EC2 instance rebalance recommendations" of the EC2 user
// guide.
// Errors: kUnavailable, kTimeout; kCorrupt = it answers what it should not. `clock` must outlive
// it. kInvalid when `endpoint` is no http:// address.
Result<std::unique_ptr<Ec2Metadata>> MakeEc2Metadata(const Ec2MetadataOptions& options,
                                                     Clock& clock);

// "21 Jan 2019 09:00:43 GMT", as maintenances are dated. kCorrupt.
Result<WallTime> ParseEventTime(const std::string& text);

}  // namespace stoker
