// SPDX-License-Identifier: Apache-2.0
// What a program saves where nobody keeps it for the next attempt: files that look like
// checkpoints, outside the checkpoint folder and all outputs.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/time.h"
#include "port/checkpoint_files.h"

namespace stoker::node {

// One thread at a time.
class StraySaves {
 public:
  // `passed`: whether a file or folder of the work directory, with all below it, is kept by others
  // or nobody's business.
  StraySaves(std::string workdir, std::function<bool(const std::string& path)> passed);

  // The program starts now, by the clock of the files: what was changed before is not its own.
  void Begin(WallTime now) { begun_ns_ = now.ms * 1'000'000; }
  // A sentence, once; "" = there is none (yet). A file tells itself by its name (ckpt.pt,
  // step-200/…), or by being saved twice: one that is not may have been downloaded.
  std::string Look();

 private:
  bool IsSave(const FileFact& fact);

  const std::string workdir_;
  const std::function<bool(const std::string& path)> passed_;
  int64_t begun_ns_ = 0;
  std::map<std::string, FileFact> seen_;        // by path
  std::map<std::string, std::string> of_role_;  // a path
  bool told_ = false;
};

}  // namespace stoker::node
