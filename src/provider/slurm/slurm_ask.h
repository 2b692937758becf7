// SPDX-License-Identifier: Apache-2.0
// What a job asks of Slurm, as text in its request (job/request.h: Ask::options): resolved when it
// was submitted, so that whoever sends the request asks for the same. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

// What is not set is left to the cluster. The partition is the request's place.region.
struct SlurmAsk {
  std::string state;  // the submitter's state folder, as all nodes see it; "" = the asker's own
  std::string path;   // PATH of the submitter's shell; "" = what Slurm gives
  std::string account;
  std::string qos;
  std::string constraint;
  std::string reservation;
  bool exclusive = false;
  std::optional<Duration> time;    // of one allocation; whole minutes, Slurm's own unit
  std::optional<Duration> notice;  // how long before its end the job is told
  std::optional<int> cpus;         // whole ones, of each node
  std::optional<int64_t> memory;   // bytes, of each node
  std::optional<int> gpus;         // of each node
  std::string gpu_name;
  std::vector<std::string> options;  // more of sbatch's: "--mail-type=END"
  bool operator==(const SlurmAsk&) const = default;
};

// One line of JSON, the same for the same ask.
std::string EncodeSlurmAsk(const SlurmAsk& ask);
// "" is an ask for nothing. kInvalid: it is not what EncodeSlurmAsk writes, or not
// safe to pass on (spec/places/slurm/words.h).
Result<SlurmAsk> ParseSlurmAsk(const std::string& text);

}  // namespace stoker
