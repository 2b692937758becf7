// SPDX-License-Identifier: Apache-2.0
// What single providers have in job files and settings. A line here is all that names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/places/ec2/section.h"
#include "spec/places/gce/section.h"
#include "spec/places/slurm/section.h"
#include "spec/text/spec_reader.h"

namespace stoker {

struct PlaceSections {
  SlurmSpec slurm;
  AwsSpec aws;
  GcpSpec gcp;
  bool operator==(const PlaceSections&) const = default;
};

struct PlaceSection {
  std::string_view key;
  void (*read)(const YamlNode& node, SpecReader* reader, PlaceSections* to);
  std::string (*print)(const PlaceSections& from);  // its lines; "" when nothing is asked for
  const std::vector<PlaceSetting>& settings;
};

// In the order in which they are printed.
const std::vector<PlaceSection>& AllPlaceSections();

// Keys of `config` in files of SkyPilot's that are of a place, and what to do instead.
const RefusedKeys& PlaceConfigKeys();

}  // namespace stoker
