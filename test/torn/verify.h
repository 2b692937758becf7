// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "test/torn/writers.h"

namespace torn {

struct Verdict {
  bool torn = false;   // a file is not the whole of one step
  bool mixed = false;  // files are of different steps, or one is missing
  int64_t step = 0;    // what a program would resume from; 0 = from the beginning
  std::string why;
};

// What a program of this kind would find in a restored directory.
Verdict Verify(const WriterOptions& options, const std::string& directory);

}  // namespace torn
