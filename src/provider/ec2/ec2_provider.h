// SPDX-License-Identifier: Apache-2.0
// Instances of Amazon EC2: on-demand and spot, in any region, all machines of a request or none.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "port/provider.h"
#include "provider/cloud/cloud_notes.h"

namespace stoker {

namespace ec2 {
class AwsApi;
}

inline constexpr char kEc2Provider[] = "ec2";

// Moves the time until which nobody but its own job ends the machine.
Status TagExpiry(ec2::AwsApi& api, const std::string& region, const std::string& instance_id,
                 WallTime expires);

// Of `notes` places are regions. Interrupt asks the agent of the machine, by the notes: EC2 itself
// gives no drills.
std::unique_ptr<Provider> MakeEc2Provider(std::shared_ptr<ec2::AwsApi> api, cloud::Notes notes);

}  // namespace stoker
