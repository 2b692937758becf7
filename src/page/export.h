// SPDX-License-Identifier: Apache-2.0
// The page as plain files: opened from a folder or a bucket, without a server and without a request
// to anywhere. Browsers give pages of files no modules and no fetch, so the facts are scripts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "page/job_reader.h"

namespace stoker::page {

// The file by which a folder or bucket is known to hold an export; it is given first.
inline constexpr char kExportMark[] = "export.js";

struct ExportConfig {
  std::string version;
  std::vector<std::string> jobs;  // ids; all others stay in the table without a page of their own
  WallTime now;                   // what the page is as of
  int64_t most_log_bytes = 2 << 20;  // of a job, the newest
  size_t pixels = 1500;              // of a curve
};

// Gives each file by its path below the export; stops at the first failure of `write`. Returns for
// people what had to be left out.
Result<std::vector<std::string>> Export(
    const ExportConfig& config, JobReader& jobs,
    const std::function<Status(const std::string& path, std::string_view type,
                               std::string_view text)>& write);

}  // namespace stoker::page
