// SPDX-License-Identifier: Apache-2.0
// What jobs need of Compute Engine, tried for `stoker doctor --infra gcp/…` by reading alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "port/broker.h"
#include "provider/gce/compute_api.h"
#include "provider/gce/gce_resolve.h"

namespace stoker {

// Of what the settings say beside the job file: project, network, account, external addresses.
// Sends GET requests only; what cannot be found out by these is said. Blocks for some seconds.
std::vector<Finding> ExamineGce(gce::ComputeApi& api, const GceWish& wish);

namespace gce {

// ---- pure, for tests ----
// "10.128.0.0/20" lies in "10.128.0.0/9"; false for what is no such range.
bool LiesIn(std::string_view inner, std::string_view outer);

// What a list of quotas (of a project: `region` is ""; or of a region) forbids altogether.
std::vector<Finding> TellQuotas(const std::string& json, const std::string& region);

// What firewalls.list lets in, of `network` ("projects/p/global/networks/n"): connections of
// Identity-Aware Proxy by SSH, and those between machines of `range`, which carry no tags and act
// as `account`. Rules that deny are not weighed.
std::vector<Finding> TellFirewall(const std::string& json, const std::string& network,
                                  const std::string& range, const std::string& account);

}  // namespace gce
}  // namespace stoker
