// SPDX-License-Identifier: Apache-2.0
// How many bytes a folder takes on its disk, counted a little at a time: it may hold millions of
// files on a slow disk, and whoever asks has other things to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/time.h"
#include "port/clock.h"

namespace stoker::sys {

// Used by one thread.
class FolderMeter {
 public:
  explicit FolderMeter(Clock& clock) : clock_(clock) {}
  // What `folder` took when it was last counted to its end; nullopt before that. Goes on counting
  // for at most some 10 ms; begins anew no sooner than ten seconds after the end of the last count,
  // and with another folder at once. Links are not followed, and what vanishes is not counted.
  std::optional<int64_t> Bytes(const std::string& folder);

 private:
  Clock& clock_;
  std::string folder_;
  std::filesystem::recursive_directory_iterator at_;  // the end: nothing is being counted
  int64_t so_far_ = 0;
  std::optional<int64_t> known_;
  std::optional<MonoTime> counted_;
};

}  // namespace stoker::sys
