// SPDX-License-Identifier: Apache-2.0
// A program that failed for want of a file that packing had left behind. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/job.h"
#include "reconcile/reconcile.h"

namespace stoker {

struct MissingFile {
  std::string path;  // relative to the work directory, as the program asked for it
  std::string by;    // LeftOut::by
  // A pattern for --include that takes it along; "" = nothing does.
  std::string include;
};

// By what the last attempt's programs wrote last to standard error, and why the job failed: the
// first line that says that a file is not there (or a module of Python), and names one of
// job.left_behind, or what lies in it. nullopt: none does, or the job has not failed.
std::optional<MissingFile> FindMissingFile(const Job& job, const std::vector<ReportSeen>& reports);

// "data/train.bin was left behind: git ignores it; --include data takes it along".
std::string MissingFileText(const MissingFile& missing);

}  // namespace stoker
