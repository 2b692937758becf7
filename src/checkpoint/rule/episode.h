// SPDX-License-Identifier: Apache-2.0
// One write of one file, from its first sign to the moment nobody wrote it any more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace stoker {

struct Episode {
  std::string path;
  std::string role;  // what the file is for: the path, with the number of the step left out
  MonoTime begin;
  MonoTime end;
  int64_t size = -1;   // when it ended; -1 = not looked at yet
  bool lived = false;  // who wrote it let go by its own will
  int files = 1;       // more: of many files at one go (checkpoint/rule/burst.h)
  bool operator==(const Episode&) const = default;
};

// When a file was being written.
struct WriteTime {
  MonoTime begin;
  MonoTime end;
};
// The longest stretch of `writes` between whose parts nobody paused for longer than `pause`.
Duration LongestStretch(std::vector<WriteTime> writes, Duration pause);

// First component of a path.
std::string TopOf(std::string_view path);
// Every run of digits becomes '#': "step-100" and "step-200" are "step-#".
std::string WithoutNumbers(std::string_view name);
// The last run of digits as a number; -1 when there is none or it is absurdly long.
int64_t LastNumber(std::string_view name);
// Files that grow line by line for as long as the program runs (logs, TensorBoard events): any
// prefix of them is whole, and their writer never pauses.
bool IsStream(std::string_view path);

}  // namespace stoker
