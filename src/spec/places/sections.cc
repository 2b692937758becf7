// SPDX-License-Identifier: Apache-2.0
#include "spec/places/sections.h"

namespace stoker {

const std::vector<PlaceSection>& AllPlaceSections() {
  static const std::vector<PlaceSection> all = {
      {"slurm",
       [](const YamlNode& v, SpecReader* r, PlaceSections* to) { ReadSlurm(v, r, &to->slurm); },
       [](const PlaceSections& from) { return PrintSlurm(from.slurm); }, SlurmSettings()},
      {"aws", [](const YamlNode& v, SpecReader* r, PlaceSections* to) { ReadAws(v, r, &to->aws); },
       [](const PlaceSections& from) { return PrintAws(from.aws); }, AwsSettings()},
      {"gcp", [](const YamlNode& v, SpecReader* r, PlaceSections* to) { ReadGcp(v, r, &to->gcp); },
       [](const PlaceSections& from) { return PrintGcp(from.gcp); }, GcpSettings()},
  };
  return all;
}

const RefusedKeys& PlaceConfigKeys() {
  static const RefusedKeys keys = {
      {"aws", "Remove it: what stoker asks of EC2 stands under 'aws' of the job file"},
      {"gcp", "Remove it: what stoker asks of Google stands under 'gcp' of the job file"},
      {"slurm", "Remove it: what Slurm is asked stands under 'slurm' of the job file"},
      {"ssh", "Remove it: pools of boxes stand in the settings (stoker config)"},
  };
  return keys;
}

}  // namespace stoker
