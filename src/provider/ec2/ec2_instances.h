// SPDX-License-Identifier: Apache-2.0
// Instances out of EC2's XML; inside provider/ec2 only. Pure. Source: "DescribeInstances",
// "Instance", "StateReason" (EC2 API reference); "Instance lifecycle" (EC2 user guide).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "port/provider.h"

namespace stoker::ec2 {

struct Instance {
  InstanceSeen seen;
  std::map<std::string, std::string> tags;
  std::string type, zone, market, image;
  std::string group;  // of placement; "" = none
  WallTime started;   // when it was last given power, by EC2's clock
};

struct InstancePage {
  std::vector<Instance> instances;
  std::string next;  // token of the next page; "" = there is none
};

// The answer to DescribeInstances or RunInstances; `now`: by EC2's clock. kCorrupt: it is none.
Result<InstancePage> ParseInstances(const std::string& xml, WallTime now);

// By their index: "" for those that have come and gone, or are not among them.
std::vector<std::string> IdsByIndex(const std::vector<Instance>& instances, size_t count);

}  // namespace stoker::ec2
