// SPDX-License-Identifier: Apache-2.0
// The section `gcp` of a job file.
#pragma once

#include <string>

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

}  // namespace stoker
