// SPDX-License-Identifier: Apache-2.0
// What is known of a job's packed code besides its bytes. Plain data.
#pragma once

#include <string>

namespace stoker {

// The git work tree that the folder belonged to when it was packed.
struct GitOrigin {
  std::string commit;  // 40 or 64 hex digits
  std::string branch;  // "" = none was checked out
  bool dirty = false;  // what was packed differs from the commit
  bool operator==(const GitOrigin&) const = default;
};

// A requirement that names what may move in a git repository, such as a branch.
struct Pin {
  std::string source;  // as the file has it: "git+https://host/x@main"
  std::string commit;  // what it was when the job was submitted; "" = nobody said in time
  bool operator==(const Pin&) const = default;
};

inline constexpr size_t kMostPins = 200;

}  // namespace stoker
