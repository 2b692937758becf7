// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/file_snapshot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "sys/watch/directory_scan.h"

namespace stoker {
namespace {

Result<int64_t> ReadAt(int fd, int64_t offset, char* buffer, int64_t size) {
  for (;;) {
    const ssize_t got = pread(fd, buffer, static_cast<size_t>(size), offset);
    if (got >= 0) return static_cast<int64_t>(got);
    if (errno != EINTR) return ErrnoStatus("cannot read the copy of a file", errno);
  }
}

}  // namespace

void FileSnapshot::Add(FileFact fact, sys::ScopedFd fd) {
  facts_.push_back(std::move(fact));
  places_.push_back({std::move(fd), -1, "", -1});
}

void FileSnapshot::AddPacked(FileFact fact, int64_t base) {
  pack_size_ = std::max(pack_size_, base + fact.size);
  facts_.push_back(std::move(fact));
  places_.push_back({sys::ScopedFd(), base, "", -1});
}

void FileSnapshot::AddOriginal(FileFact fact, std::string path, int64_t ctime_ns) {
  facts_.push_back(std::move(fact));
  places_.push_back({sys::ScopedFd(), -1, std::move(path), ctime_ns});
}

FileSnapshot::Copy FileSnapshot::CopyOf(size_t index) const {
  const Place& place = places_[index];
  if (place.base >= 0) return {pack_.get(), place.base};
  return {place.fd.get(), 0};
}

Result<int64_t> FileSnapshot::Read(size_t index, int64_t offset, char* buffer, int64_t size) {
  const Place& place = places_[index];
  if (place.base < 0 && place.path.empty()) return ReadAt(place.fd.get(), offset, buffer, size);
  const int64_t left = std::max<int64_t>(facts_[index].size - offset, 0);
  size = std::min(size, left);
  if (size == 0) return int64_t{0};
  if (place.base >= 0) return ReadAt(pack_.get(), place.base + offset, buffer, size);
  STOKER_ASSIGN(const sys::ScopedFd fd, sys::Open(place.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  return ReadAt(fd.get(), offset, buffer, size);
}

int FileSnapshot::Descriptor(size_t index) {
  const int fd = places_[index].fd.get();
  return fd >= 0 && lseek(fd, 0, SEEK_SET) == 0 ? fd : -1;
}

Status FileSnapshot::StillSame(size_t index) {
  const Place& place = places_[index];
  if (place.path.empty()) return Status::Ok();
  const FileFact& was = facts_[index];
  struct stat info;
  if (lstat(place.path.c_str(), &info) == 0) {
    const FileFact now = FactOf(was.path, info);
    const bool appended = place.ctime_ns < 0 && now.size >= was.size;
    const bool same =
        now.size == was.size && now.mtime_ns == was.mtime_ns && now.ctime_ns == place.ctime_ns;
    if (now.kind == FileKind::kFile && now.ino == was.ino && (appended || same)) {
      return Status::Ok();
    }
  }
  return Status(Code::kConflict, "'" + Printable(was.path) + "' changed before it was saved");
}

}  // namespace stoker
