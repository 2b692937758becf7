// SPDX-License-Identifier: Apache-2.0
// The section `aws` of a job file and of the settings.
#pragma once

#include <string>
#include <vector>

#include "spec/text/spec_reader.h"

namespace stoker {

// What EC2 is asked for besides `resources`.
struct AwsSpec {
  std::string placement;                     // "cluster": nodes are near each other; "" = anywhere
  bool efa = false;                          // Elastic Fabric Adapters
  std::string capacity_reservation;          // "cr-…", also of a capacity block
  std::vector<std::string> subnets;          // "subnet-…"; none: those of the default VPC
  std::vector<std::string> security_groups;  // ids or names; none: the ledger's own
  bool metadata_tags = false;                // programs may read the machine's tags inside
  bool operator==(const AwsSpec&) const = default;
};

void ReadAws(const YamlNode& node, SpecReader* reader, AwsSpec* aws);
// Its lines; "" when nothing is asked for.
std::string PrintAws(const AwsSpec& aws);

inline constexpr char kAwsProfile[] = "aws.instance_profile";
inline constexpr char kAwsGoogleIdentity[] = "aws.google_identity";  // "projects/…"
inline constexpr char kAwsGoogleAccount[] = "aws.google_account";    // an e-mail
const std::vector<PlaceSetting>& AwsSettings();

}  // namespace stoker
