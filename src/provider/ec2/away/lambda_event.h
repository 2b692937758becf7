// SPDX-License-Identifier: Apache-2.0
// What EventBridge says when it calls the function; inside provider/ec2 only. Pure. Sources:
// "EC2 Instance State-change Notification", "Spot Instance interruption notices" and "EC2 instance
// rebalance recommendations" (EC2 user guide).
#pragma once

#include <string>
#include <string_view>

namespace stoker::ec2 {

// The instance that something is said to have happened to. "": it is only time to look, or nothing
// that can be read was said.
std::string InstanceOfEvent(std::string_view event);

// The pattern of the rule that brings such events, as JSON: of every instance of the region, since
// EventBridge knows nothing of tags.
std::string InstanceEventPattern();

}  // namespace stoker::ec2
