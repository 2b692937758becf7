// SPDX-License-Identifier: Apache-2.0
// A folder of append-only files on this machine's disk: what is written here survives the death of
// the process (not of the machine) until it has reached the store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stoker {

struct SpoolEntry {
  std::string name;
  int64_t size = 0;
};

// One file open for appending. Not thread-safe.
class SpoolAppender {
 public:
  virtual ~SpoolAppender() = default;
  // In one piece where the disk allows. After a failure (kNoSpace when the disk is full), or when
  // the process dies within, any prefix of `bytes` may have been appended: Truncate before going
  // on.
  virtual Status Append(std::string_view bytes) = 0;
};

// Names are single path components. Calls on different files may come from different threads; Read
// may run while another thread appends to the same file, and sees what Append had returned for.
class SpoolFolder {
 public:
  virtual ~SpoolFolder() = default;
  virtual Result<std::vector<SpoolEntry>> List() = 0;  // ordered by name, bytewise
  // Creates the file, or goes on at its end.
  virtual Result<std::unique_ptr<SpoolAppender>> OpenAppend(const std::string& name) = 0;
  // `size` bytes from `offset`; fewer only at the end of the file.
  virtual Result<std::string> Read(const std::string& name, int64_t offset, int64_t size) = 0;
  virtual Status Truncate(const std::string& name, int64_t size) = 0;
  // Ok also when there was none.
  virtual Status Remove(const std::string& name) = 0;
};

}  // namespace stoker
