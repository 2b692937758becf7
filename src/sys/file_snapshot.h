// SPDX-License-Identifier: Apache-2.0
// Open files as a Snapshot.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "port/checkpoint_files.h"
#include "sys/file.h"

namespace stoker {

// Reads the files that were given to it; whoever gives them sees to it that nobody writes to them.
class FileSnapshot : public Snapshot {
 public:
  void Add(FileFact fact, sys::ScopedFd fd) {
    facts_.push_back(std::move(fact));
    fds_.push_back(std::move(fd));
  }
  const std::vector<FileFact>& files() const override { return facts_; }
  Result<int64_t> Read(size_t index, int64_t offset, char* buffer, int64_t size) override {
    for (;;) {
      const ssize_t got = pread(fds_[index].get(), buffer, static_cast<size_t>(size), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus("cannot read the copy of a file", errno);
      return static_cast<int64_t>(got);
    }
  }
  int Descriptor(size_t index) override {
    const int fd = fds_[index].get();
    if (lseek(fd, 0, SEEK_SET) != 0) return -1;
    return fd;
  }

 private:
  std::vector<FileFact> facts_;
  std::vector<sys::ScopedFd> fds_;
};

}  // namespace stoker
