// SPDX-License-Identifier: Apache-2.0
// Files as a Snapshot: each with a descriptor of its own, many behind one another in one nameless
// file, or the originals themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "port/checkpoint_files.h"
#include "sys/file.h"

namespace stoker {

// Whoever gives the files sees to it that nobody writes to those that are copies.
class FileSnapshot : public Snapshot {
 public:
  // A file of its own.
  void Add(FileFact fact, sys::ScopedFd fd);
  // The copies of small files share one file; Pack is where it is, made by whoever copies.
  void SetPack(sys::ScopedFd fd) { pack_ = std::move(fd); }
  int pack() const { return pack_.get(); }
  int64_t pack_size() const { return pack_size_; }
  // `fact.size` bytes from `base` of the pack.
  void AddPacked(FileFact fact, int64_t base);
  // The file itself, for want of room for a copy: `ctime_ns` is when it was last changed, -1 for
  // one that is only appended to.
  void AddOriginal(FileFact fact, std::string path, int64_t ctime_ns);

  const std::vector<FileFact>& files() const override { return facts_; }
  Result<int64_t> Read(size_t index, int64_t offset, char* buffer, int64_t size) override;
  int Descriptor(size_t index) override;
  bool copied(size_t index) const override { return places_[index].path.empty(); }
  Status StillSame(size_t index) override;

  // Where the copy of `index` lies: a descriptor, and the first byte in it.
  struct Copy {
    int fd = -1;
    int64_t base = 0;
  };
  Copy CopyOf(size_t index) const;

 private:
  struct Place {
    sys::ScopedFd fd;
    int64_t base = -1;  // in the pack
    std::string path;   // of an original
    int64_t ctime_ns = -1;
  };
  std::vector<FileFact> facts_;
  std::vector<Place> places_;
  sys::ScopedFd pack_;
  int64_t pack_size_ = 0;
};

}  // namespace stoker
