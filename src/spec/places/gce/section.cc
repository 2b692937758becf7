// SPDX-License-Identifier: Apache-2.0
#include "spec/places/gce/section.h"

namespace stoker {

void ReadGcp(const YamlNode& node, SpecReader* reader, GcpSpec* gcp) {
  if (!reader->ExpectMap(node, "gcp")) return;
  const auto placement = [=](const YamlNode& v) {
    if (const auto word = reader->Choice(v, "gcp.placement", {"cluster"})) {
      gcp->placement = *word;
    }
  };
  reader->ReadMap(node, "gcp", {{"placement", placement}},
                  {{"region", "Write it behind the infra: gcp/REGION"},
                   {"zone", "Write it behind the infra: gcp/REGION/ZONE"},
                   {"instance_type", "Write 'resources.instance_type'"},
                   {"project", "It is a setting: stoker config set gcp.project PROJECT"},
                   {"network", "It is a setting: stoker config set gcp.network NAME"},
                   {"subnetwork", "It is a setting: stoker config set gcp.subnetwork NAME"}});
}

std::string PrintGcp(const GcpSpec& gcp) {
  return gcp.placement.empty() ? "" : "gcp:\n  placement: " + gcp.placement + "\n";
}

}  // namespace stoker
