// SPDX-License-Identifier: Apache-2.0
// Which folder is which, whatever path leads there: links, bind mounts, '..' and file systems that
// fold case make names no proof. Inside store/ only.
#pragma once

#include <sys/types.h>

#include <compare>
#include <string>
#include <vector>

#include "base/status.h"

namespace stoker::folder {

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  auto operator<=>(const Identity&) const = default;
};

Result<Identity> IdentityOf(int fd);

// What `path` leads to and the folders that it lies in, as the kernel goes up: innermost first.
struct Chain {
  std::vector<Identity> folders;
  bool whole = true;  // `path` is there; false: its deepest folder that is comes first
};
// What may not be looked at ends it early.
Result<Chain> ChainOf(const std::string& path);

// kUsage: they are one folder, or one lies in the other. `source_is_file`: the source is one file
// of its folder, and the target may well lie in that.
Status CheckNesting(const std::string& source, bool source_is_file, const std::string& target);

}  // namespace stoker::folder
