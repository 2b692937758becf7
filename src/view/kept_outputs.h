// SPDX-License-Identifier: Apache-2.0
// What a job has kept of its files, in a line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "job/job.h"
#include "port/object_store.h"

namespace stoker {

struct KeptOutputs {
  bool known = false;  // false: the store did not say
  int64_t files = 0;
  int64_t bytes = 0;
  int64_t profiles = 0;  // of the files: traces of a profiler
};

// Of all attempts and nodes; reads the lists of outputs.
KeptOutputs ReadKeptOutputs(ObjectStore& store, const std::string& job);
// "3 files, 1.2 MB: stoker get JOB"; "no files"; "…; 2 of a profiler: stoker get JOB profile".
std::string KeptText(const KeptOutputs& kept, const std::string& job);
nlohmann::json KeptJson(const KeptOutputs& kept);  // null when it is not known

}  // namespace stoker
