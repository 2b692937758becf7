// SPDX-License-Identifier: Apache-2.0
// Lines that are appended to a file by others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stoker {

// Not thread-safe.
class ToldLines {
 public:
  // `path` need not be there yet; "" = there is none.
  explicit ToldLines(std::string path) : path_(std::move(path)) {}
  // Lines that are whole, and were not taken before; at most a mebibyte of them. Of a file that has
  // become shorter, all again. What cannot be read is as nothing. A line of over 64 KiB is left
  // out.
  std::vector<std::string> Take();

 private:
  std::string path_;
  int64_t at_ = 0;     // read up to here
  std::string begun_;  // of a line whose end has not come
};

}  // namespace stoker
