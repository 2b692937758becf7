// SPDX-License-Identifier: Apache-2.0
// What the programs of a job ran with (job/run_facts.h), read and held against each other.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/job.h"
#include "job/run_facts.h"
#include "port/object_store.h"

namespace stoker {

struct Ran {
  RunFacts facts;
  std::vector<Package> packages;
  std::string machine;  // "aws us-east-1 us-east-1a, g5.xlarge, spot": of the record
};

// Of every attempt and node that has told it, in this order. What cannot be read is left out and
// `trouble` says so.
std::vector<Ran> ReadRan(ObjectStore& store, const Job& job, Status* trouble);
// Of the newest attempt that has told it, its lowest node; unset: none has.
std::optional<Ran> ReadNewestRan(ObjectStore& store, const Job& job, Status* trouble);

// Of node 0, of the newest of the last three attempts that has told it, without its packages: one
// to three reads.
std::optional<RunFacts> NewestRunFacts(ObjectStore& store, const Job& job);
// "Python 3.11.2, 98 packages, NVIDIA driver 550.54 (CUDA 12.4), kernel 6.1.0".
std::string RanLine(const RunFacts& facts);

// The same as texts by name, bytes of others. Pure, as all that follows.
using Facts = std::map<std::string, std::string>;
Facts MachineAndPython(const Ran& ran);
Facts PackageVersions(const Ran& ran);
// Those that are neither stoker's own nor the job file's: "(not told)" and "(secret)" for values.
Facts OtherVariables(const Ran& ran);

struct FactDifference {
  std::string name;
  std::string before;  // "" = it was not there
  std::string after;
};
std::vector<FactDifference> Differences(const Facts& before, const Facts& after);
// What apart from variables differs of two, machine and Python first.
std::vector<FactDifference> DifferencesOf(const Ran& before, const Ran& after);

// All that was kept; lists of packages once each, by digest.
nlohmann::json RanJson(const std::vector<Ran>& all);

}  // namespace stoker
