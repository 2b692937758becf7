// SPDX-License-Identifier: Apache-2.0
#include "spec/places/sections.h"

namespace stoker {

const std::vector<PlaceSection>& AllPlaceSections() {
  static const std::vector<PlaceSection> all = {
      {"slurm",
       [](const YamlNode& v, SpecReader* r, PlaceSections* to) { ReadSlurm(v, r, &to->slurm); },
       [](const PlaceSections& from) { return PrintSlurm(from.slurm); }},
      {"aws", [](const YamlNode& v, SpecReader* r, PlaceSections* to) { ReadAws(v, r, &to->aws); },
       [](const PlaceSections& from) { return PrintAws(from.aws); }},
      {"gcp", [](const YamlNode& v, SpecReader* r, PlaceSections* to) { ReadGcp(v, r, &to->gcp); },
       [](const PlaceSections& from) { return PrintGcp(from.gcp); }},
  };
  return all;
}

}  // namespace stoker
