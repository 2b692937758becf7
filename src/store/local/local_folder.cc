// SPDX-License-Identifier: Apache-2.0
#include "store/local/local_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/text.h"

namespace stoker::local {
namespace {

// What getdents64(2) fills in; glibc declares no such struct.
struct RawEntry {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  unsigned char type;
  char name[1];
};

bool IsDots(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

}  // namespace

Status ReadEntries(int fd, std::vector<Entry>* entries) {
  // One call returns all of a small directory, which is one consistent look at it.
  alignas(RawEntry) std::array<char, 64 * 1024> buffer;
  lseek(fd, 0, SEEK_SET);
  while (true) {
    const long got = syscall(SYS_getdents64, fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    // A directory that is removed while it is read has no entries.
    if (got < 0 && errno != ENOENT) return ErrnoStatus("reading a directory", errno);
    if (got <= 0) return Status::Ok();
    for (long at = 0; at < got;) {
      const auto* raw = reinterpret_cast<const RawEntry*>(buffer.data() + at);
      if (!IsDots(raw->name)) entries->push_back({raw->name, raw->type});
      at += raw->length;
    }
  }
}

Result<std::optional<Revision>> CurrentRevision(int rev_dir) {
  std::vector<Entry> entries;
  STOKER_TRY(ReadEntries(rev_dir, &entries));
  std::optional<Revision> current;
  for (const Entry& entry : entries) {
    auto pointer = ParsePointer(entry.name);
    // A look that races with a rename may see both names.
    if (pointer && (!current || pointer->number > current->number)) current = std::move(pointer);
  }
  return current;
}

bool SettlesAsOne(int fd) {
  // ext, XFS, Btrfs, F2FS, tmpfs and overlays of them (linux/magic.h). Others may keep an error for
  // the fsync or the close of each file.
  constexpr std::array<unsigned long, 6> kDisks = {0xEF53,     0x58465342, 0x9123683E,
                                                   0xF2F52010, 0x01021994, 0x794C7630};
  struct statfs info = {};
  if (fstatfs(fd, &info) != 0) return false;
  const auto type = static_cast<unsigned long>(info.f_type);
  if (std::find(kDisks.begin(), kDisks.end(), type) == kDisks.end()) return false;
  struct utsname kernel = {};
  int major = 0;
  int minor = 0;
  if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2)
    return false;
  return major > 5 || (major == 5 && minor >= 8);
}

Folder::Folder(std::string root, sys::ScopedFd fd, bool durable)
    : root_(std::move(root)), fd_(std::move(fd)), durable_(durable) {
  struct stat info = {};
  if (fstat(fd_.get(), &info) != 0) return;
  if ((info.st_mode & S_IWGRP) != 0) rights_ |= 0070;
  if ((info.st_mode & S_IWOTH) != 0) rights_ |= 0007;
}

WallTime Folder::Now() const {
  struct timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return WallTime{static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000};
}

Status Folder::Failure(std::string_view doing, const std::string& relative, int error) const {
  const Status plain =
      ErrnoStatus(std::string(doing) + " " + (relative.empty() ? root_ : Path(relative)), error);
  switch (plain.code()) {
    case Code::kNoSpace:
      return plain.WithNext("Free space (or quota) for the store in " + root_);
    case Code::kDenied:
      return plain.WithNext("Give yourself the right to write in " + root_ +
                            ", or choose another folder as the store");
    default:
      break;
  }
  if (error == EIO || error == ESTALE) return plain.WithNext("Check the disk that holds " + root_);
  return plain;
}

bool Folder::Exists(const std::string& relative) const {
  return faccessat(fd(), relative.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<sys::ScopedFd> Folder::OpenDir(const std::string& relative) const {
  const char* path = relative.empty() ? "." : relative.c_str();
  int opened;
  do {
    opened = openat(fd(), path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  } while (opened < 0 && errno == EINTR);
  if (opened < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) {
    return sys::ScopedFd();
  }
  if (opened < 0) return Failure("opening", relative, errno);
  return sys::ScopedFd(opened);
}

Status Folder::MakeParents(const std::string& key) const {
  std::vector<std::string> made;
  for (size_t slash = key.find('/'); slash != std::string::npos; slash = key.find('/', slash + 1)) {
    const std::string dir = key.substr(0, slash);
    if (mkdirat(fd(), dir.c_str(), folder_mode()) == 0) {
      made.push_back(dir);
    } else if (errno == ENOENT || errno == ENOTDIR) {
      break;  // removed again below us, or in the way: the caller finds out
    } else if (errno != EEXIST) {
      return Failure("making the folder", dir, errno);
    }
  }
  // Once all are made: what makes the deepest durable has the journal written, with the others.
  for (auto dir = made.rbegin(); dir != made.rend(); ++dir) STOKER_TRY(SyncParent(*dir));
  return Status::Ok();
}

void Folder::RemoveEmptyParents(const std::string& key) const {
  for (std::string dir = ParentOf(key); !dir.empty(); dir = ParentOf(dir)) {
    if (unlinkat(fd(), dir.c_str(), AT_REMOVEDIR) != 0) return;
  }
}

Status Folder::Sync(int target, const std::string& relative) const {
  if (!durable_) return Status::Ok();
  int failed;
  do {
    failed = fsync(target);
  } while (failed != 0 && errno == EINTR);
  // Some file systems cannot sync a directory, and need not.
  if (failed == 0 || errno == EINVAL || errno == ENOTSUP) return Status::Ok();
  return Failure("making durable", relative, errno);
}

Status Folder::SyncParent(const std::string& key) const {
  if (!durable_) return Status::Ok();
  const std::string parent = ParentOf(key);
  STOKER_ASSIGN(const sys::ScopedFd dir, OpenDir(parent));
  // Gone means emptied by somebody's delete: what was in it is no longer there to be kept.
  return dir.valid() ? Sync(dir.get(), parent) : Status::Ok();
}

Result<std::string> Folder::TempName() const {
  const std::string tmp(kTmp);
  if (!Exists(tmp) && mkdirat(fd(), tmp.c_str(), folder_mode()) != 0 && errno != EEXIST) {
    return Failure("making the folder", tmp, errno);
  }
  return tmp + "/" + std::to_string(getpid()) + "-" + Hex64(sys::RandomU64());
}

void Folder::SweepTmp(Duration older) const {
  const auto dir = OpenDir(std::string(kTmp));
  std::vector<Entry> entries;
  if (!dir.ok() || !dir->valid() || !ReadEntries(dir->get(), &entries).ok()) return;
  const WallTime limit = Now() - older;
  for (const Entry& entry : entries) {
    struct stat info = {};
    if (fstatat(dir->get(), entry.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (ModifiedAt(info) > limit) continue;
    // Best effort: whoever comes next tries again.
    (void)sys::RemoveTree(Path(std::string(kTmp) + "/" + entry.name));
  }
}

}  // namespace stoker::local
