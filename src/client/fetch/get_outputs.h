// SPDX-License-Identifier: Apache-2.0
// What a job kept of its files, into a folder of a person.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/status.h"
#include "client/open/client.h"

namespace stoker::client {

struct GetOutputsOptions {
  std::string what;       // "" = all
  std::string to;         // "" = a folder named after the job, which the next job does not pack
  bool force = false;     // what is there and differs is replaced
  int node = -1;          // only what this one kept
  int attempt = 0;        // what this one kept, also where a later one replaced it; 0 = the newest
  bool profiles = false;  // `what` means traces of a profiler, unless an output is called so
};

struct FetchedOutputs {
  std::string to;      // as it was named, or as it was chosen
  std::string folder;  // the same, from the root
  int64_t files = 0;
  int64_t bytes = 0;
  int64_t same = 0;  // files that were there already and do not differ
  struct Refusal {
    std::string why;
    bool by_force = false;  // `force` would replace it
  };
  std::map<std::string, Refusal> refused;  // by path: it would have been overwritten
  std::set<std::string> gone;              // replaced by later attempts, and not kept any more
  // What the job made and this does not fetch.
  int64_t replaced = 0;  // files of earlier attempts, by others of their names
  int64_t unkept = 0;    // files that are in no store
  std::string unkept_in;
};

// Every byte is checked against its digest. kNotFound: nothing of that name was kept.
Result<FetchedOutputs> GetOutputs(Client& client, const std::string& job,
                                  const GetOutputsOptions& options);

// kNotFound, and why: what is said where a job, or one attempt of it, has kept nothing.
Status NoOutputs(Client& client, const std::string& job, int attempt);

}  // namespace stoker::client
