// SPDX-License-Identifier: Apache-2.0
// Instances of Amazon EC2: on-demand and spot, in any region, all machines of a request or none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/provider.h"

namespace stoker {

namespace ec2 {
class AwsApi;
}

inline constexpr char kEc2Provider[] = "ec2";

// What the ledger keeps for EC2, as callbacks. Thread-safe; none may be empty.
struct Ec2Notes {
  // Regions in which anything of this ledger may be. Those that NoteRegion ever got are among them.
  std::function<Result<std::vector<std::string>>()> regions;
  // Before the first request to `region`, so that whoever clears up looks there.
  std::function<Status(const std::string& region)> note_region;
  // Asks the machine's own agent to be taken after `lead`.
  std::function<Status(const std::string& job, const std::string& instance_id, Duration lead)>
      drill;
  // The store's clock, as far as `regions` has told it.
  std::function<std::optional<WallTime>()> store_now;
};

// Moves the time until which nobody but its own job ends the machine.
Status TagExpiry(ec2::AwsApi& api, const std::string& region, const std::string& instance_id,
                 WallTime expires);

// Whether a person ends the instance at this moment, or has ended it, with EC2's own tools. Errors:
// those of ec2::StatusOf; kDenied where the caller may not look.
Result<bool> IsEndedByOwner(ec2::AwsApi& api, const std::string& region,
                            const std::string& instance_id);

// Interrupt asks the agent of the machine, by the notes: EC2 itself gives no drills.
std::unique_ptr<Provider> MakeEc2Provider(std::shared_ptr<ec2::AwsApi> api, Ec2Notes notes);

}  // namespace stoker
