// SPDX-License-Identifier: Apache-2.0
// The section `gcp` of a job file and of the settings.
#pragma once

#include <string>
#include <vector>

#include "spec/text/spec_reader.h"

namespace stoker {

// What Compute Engine is asked for besides `resources`.
struct GcpSpec {
  std::string placement;  // "cluster": nodes are near each other; "" = anywhere
  bool operator==(const GcpSpec&) const = default;
};

void ReadGcp(const YamlNode& node, SpecReader* reader, GcpSpec* gcp);
// Its lines; "" when nothing is asked for.
std::string PrintGcp(const GcpSpec& gcp);

inline constexpr char kGcpProject[] = "gcp.project";
inline constexpr char kGcpNetwork[] = "gcp.network";
inline constexpr char kGcpSubnetwork[] = "gcp.subnetwork";
inline constexpr char kGcpServiceAccount[] = "gcp.service_account";  // an e-mail
inline constexpr char kGcpExternalIp[] = "gcp.external_ip";          // "true", "false"
const std::vector<PlaceSetting>& GcpSettings();

}  // namespace stoker
