// SPDX-License-Identifier: Apache-2.0
// The way back out of a packed segment of metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace stoker {

// Up to `size` bytes; 0 at the end.
using ReadPacked = std::function<Result<int64_t>(char* buffer, int64_t size)>;

// The lines of a packed segment, one after another. Held are a line or two, and 0.3 MB besides (of
// segments that earlier builds wrote, 1.3). Not thread-safe.
class MetricLines {
 public:
  explicit MetricLines(ReadPacked read);
  explicit MetricLines(std::string packed);
  ~MetricLines();
  // Valid until the next call, without its \n; nullopt after the last, when all has been read.
  // kCorrupt: damaged, or a line or the whole is larger than any that stoker writes.
  Result<std::optional<std::string_view>> Next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker
