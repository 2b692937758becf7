// SPDX-License-Identifier: Apache-2.0
// When files were written, and what their names say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace stoker {

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
// Files that grow line by line for as long as the program runs (logs, TensorBoard events, tables of
// metrics): any prefix of them is whole, and their writer never pauses. They are no save.
bool IsStream(std::string_view path);

}  // namespace stoker
