// SPDX-License-Identifier: Apache-2.0
// What a setup with `cache` has made, kept in its Python environment and used in the place of
// running it again. It lies in the environment's folder, so that whoever keeps or moves that has
// both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "contract/environment.h"
#include "spec/job_spec.h"

namespace stoker::node {

inline constexpr int64_t kMostSetupBytes = int64_t{4} << 30;  // of files in the work directory
inline constexpr size_t kMostSetupFiles = 200'000;

// What the result is found by: the text, the files and folders that `cache` names, and of the job's
// `envs` and hyperparameters those that text or files name; the rank where they name that. The
// environment's own key comes on top. kInvalid: one of the files is not there.
Result<std::string> SetupKey(const JobSpec& spec, const std::string& workdir, int rank);

// The entries of a folder as they are now; links are not followed.
struct SeenEntry {
  uint64_t inode = 0;
  uint32_t mode = 0;
  int64_t size = 0;
  int64_t mtime_ns = 0;
  bool operator==(const SeenEntry&) const = default;
};
using SeenFolder = std::map<std::string, SeenEntry>;
Result<SeenFolder> SeeFolder(const std::string& folder);

struct SetupResult {
  contract::Environment variables;  // what it handed on
  int64_t files = 0;                // that it made or changed in the work directory, links as well
  int64_t bytes = 0;
  std::vector<std::string> removed;  // of the work directory
};

// Keeps what setup has made: what differs in `workdir` from `before`, and `variables`. All or
// nothing, also for kill -9. kInvalid, with the reason: it cannot be kept.
Result<SetupResult> KeepSetup(const std::string& env, const std::string& key,
                              const std::string& workdir, const SeenFolder& before,
                              const contract::Environment& variables);
// Unset where there is no whole one of this key. Its files come into `workdir`, and what named the
// work directory of before in a variable names this one.
Result<std::optional<SetupResult>> UseSetup(const std::string& env, const std::string& key,
                                            const std::string& workdir);

}  // namespace stoker::node
