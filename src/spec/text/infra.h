// SPDX-License-Identifier: Apache-2.0
// Where a job runs, in one word of the job file: "local", "slurm/gpu", "ssh/lab". Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace stoker {

// The word for this machine, where jobs run unless somebody says otherwise.
inline constexpr char kThisMachine[] = "local";

// The parts of the word. Each but the first may be empty: not given.
struct Infra {
  std::string provider;  // as Place::provider: "local", "slurm", "ssh"
  std::string where;     // slurm: the partition; ssh: the pool
  std::string within;    // of a provider that has regions: the zone
  bool operator==(const Infra&) const = default;
};

// What people write for the places of one provider.
struct InfraKind {
  const char* word = "";  // "slurm"
  size_t least = 0;       // parts behind the word
  size_t most = 0;
  const char* form = "";     // "slurm or slurm/PARTITION"
  const char* meaning = "";  // "a cluster that Slurm runs"
  bool makes = false;        // machines for the job alone: it may name their type, image and disk
};

// From now on this process takes such words: the registry of providers tells them, before anything
// is parsed and before there is a second thread (provider/registry.h). "local" is known without.
void LearnInfra(std::string_view provider, const InfraKind& kind);

// The word in the form that is kept, its first part in small letters, a zone that was given
// without its region behind that. kInvalid, with what to do:
// it is none, or one that is not built. `what`: the key or flag that it is the value of.
Result<std::string> CheckInfra(std::string_view what, std::string_view word);

// Does the provider of a word that CheckInfra gave make machines (InfraKind::makes)?
bool MakesMachines(std::string_view infra);

// What people write for a provider by its name in records: "aws" for "ec2"; of one that is not
// known, the name.
std::string InfraWordOf(std::string_view provider);

// Of a word that CheckInfra gave; of any other, its text up to the first '/' is the provider.
Infra ParseInfra(std::string_view word);

}  // namespace stoker
