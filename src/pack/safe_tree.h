// SPDX-License-Identifier: Apache-2.0
// Makes files under one directory from names that are not trusted. Every folder on the way is
// opened by itself, without following a link, and names have no ".."; so nothing can land outside,
// whatever links the tree itself holds. (openat2 with RESOLVE_BENEATH would do the same in one call
// where kernel and container allow it; the walk does it everywhere.)
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "sys/file.h"

namespace stoker::pack {

// kInvalid for a name that is absolute, has "." or ".." or empty parts, is too long or too deep.
Status CheckEntryName(std::string_view path);

// Paths must have passed CheckEntryName. Missing folders on the way are made. kCorrupt: the name
// was made before, or a file or link stands where a folder must be. Not thread-safe.
class SafeTree {
 public:
  explicit SafeTree(int root) : root_(root) {}

  Status AddDir(const std::string& path, mode_t mode);
  Status AddLink(const std::string& path, const std::string& target, int64_t mtime_ns);
  // `target` must be a file that was made before.
  Status AddHardLink(const std::string& path, const std::string& target);
  // A new, empty file of mode 0600, to be written and then handed to FinishFile.
  Result<sys::ScopedFd> CreateFile(const std::string& path);
  static Status FinishFile(sys::ScopedFd file, mode_t mode, int64_t mtime_ns);
  // Gives folders their modes. Call once, last.
  Status Finish();

 private:
  struct Level {
    std::string name;
    sys::ScopedFd fd;
  };
  // The open folder that `path` lies in; the descriptor lives until the next call. `name` becomes
  // the last part.
  Result<int> OpenParent(const std::string& path, bool create, std::string& name);

  int root_;
  std::vector<Level> levels_;  // the folder that was used last, from the top down
  std::unordered_map<std::string, mode_t> dirs_;  // those with an entry of their own
};

}  // namespace stoker::pack
