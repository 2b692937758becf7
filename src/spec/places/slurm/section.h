// SPDX-License-Identifier: Apache-2.0
// The section `slurm` of a job file, what sbatch is asked for, and of the settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "spec/text/spec_reader.h"

namespace stoker {

// What sbatch is asked for besides `resources`. What is empty or unset is left to the cluster.
struct SlurmSpec {
  std::string account;
  std::string qos;
  std::string constraint;
  std::string reservation;
  bool exclusive = false;
  std::optional<Duration> time;      // of one allocation
  std::optional<Duration> notice;    // how long before its end the program is told
  std::vector<std::string> options;  // "--mail-type=END"
  bool operator==(const SlurmSpec&) const = default;
};

void ReadSlurm(const YamlNode& node, SpecReader* reader, SlurmSpec* slurm);
// Its lines; "" when nothing is asked for.
std::string PrintSlurm(const SlurmSpec& slurm);

inline constexpr char kSlurmLogin[] = "slurm.login";  // a host for ssh
const std::vector<PlaceSetting>& SlurmSettings();

}  // namespace stoker
