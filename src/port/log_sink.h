// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace stoker {

enum class LogStream : char { kOut = 'o', kErr = 'e', kSystem = 's' };

// Where a task's output goes as it is read from its pipes. Thread-safe. Write gets raw bytes: any
// value, any length, not aligned to lines; it may block (then the program blocks, as on any pipe)
// but never fails the program: a sink keeps its own error.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Write(LogStream stream, std::string_view bytes) = 0;
};

}  // namespace stoker
