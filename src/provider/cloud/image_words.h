// SPDX-License-Identifier: Apache-2.0
// What an image lacks that a program may count on, for whoever submits. Inside provider/ only.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stoker::cloud {

struct ImageAsked {
  std::string name;       // as its owner calls it
  int64_t disk_gib = 0;   // of the machine's root disk; 0 = not known
  bool gpus = false;      // the job asks for some
  bool packages = false;  // it brings a requirements.txt, or a setup
};

// Remarks, with what to do; none where nothing is known to lack.
std::vector<std::string> ImageRemarks(const ImageAsked& image);

}  // namespace stoker::cloud
