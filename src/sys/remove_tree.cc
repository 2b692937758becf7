// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::sys {
namespace {

// Directories below this are moved up first, so that descriptors are bounded whatever the depth.
constexpr int kMaxDepth = 64;
// Somebody may be adding entries while we remove; give up after so many rounds.
constexpr int kMaxRounds = 20;

// Is `name` in `parent` the root of another mount? A bind mount of the same file system has the
// same device number, so the kernel is asked (statx, Linux 5.8); else the device decides.
bool IsMount(int parent, const char* name) {
  struct statx info;
  if (statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &info) != 0) {
    return false;
  }
  if ((info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }
  struct stat above;
  struct stat plain;
  return parent >= 0 && fstat(parent, &above) == 0 &&
         fstatat(parent, name, &plain, AT_SYMLINK_NOFOLLOW) == 0 && plain.st_dev != above.st_dev;
}

class Remover {
 public:
  // `name` in `parent` with all below it. `path` is for messages.
  Status Remove(int parent, const std::string& name, const std::string& path, int depth) {
    if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return Status::Ok();
    int error = errno;
    struct stat info;
    if (fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? Status::Ok() : Failure(path, errno);
    }
    // unlink of a directory says EISDIR on Linux, EPERM by POSIX.
    if (!S_ISDIR(info.st_mode)) return Failure(path, error);
    if (IsMount(parent, name.c_str())) {
      return Status(Code::kBusy, "'" + Printable(path) + "' is a mount point and is not removed");
    }
    return RemoveDir(parent, name, path, depth);
  }

 private:
  static Status Failure(const std::string& path, int error) {
    return ErrnoStatus("cannot remove '" + Printable(path) + "'", error);
  }

  // Opens a directory, making it usable first where its mode forbids that.
  static int OpenDir(int parent, const std::string& name) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      int fd = openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (fd >= 0 || errno != EACCES) return fd;
      // fchmodat follows links, but unlink and stat above saw a directory, and opening it again
      // refuses a link that took its place.
      if (fchmodat(parent, name.c_str(), 0700, 0) != 0) return -1;
    }
    errno = EACCES;
    return -1;
  }

  Status RemoveDir(int parent, const std::string& name, const std::string& path, int depth) {
    ScopedFd fd(OpenDir(parent, name));
    if (!fd.valid()) return errno == ENOENT ? Status::Ok() : Failure(path, errno);
    struct stat info;
    if (fstat(fd.get(), &info) == 0 && (info.st_mode & 0700) != 0700) {
      (void)fchmod(fd.get(), 0700);  // entries cannot be unlinked from a read-only directory
    }
    if (depth == 0) top_ = fd.get();
    for (int round = 0; round < kMaxRounds; ++round) {
      STOKER_TRY(RemoveEntries(fd.get(), path, depth));
      if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
        return Status::Ok();
      }
      // Moved-up directories and entries that others made meanwhile: once more. A deep tree needs
      // one round per kMaxDepth levels, so such rounds are not counted.
      if (errno != ENOTEMPTY && errno != EEXIST) return Failure(path, errno);
      if (depth == 0 && moved_) {
        moved_ = false;
        round = -1;
      }
    }
    return Status(Code::kBusy, "'" + Printable(path) + "' keeps getting new entries");
  }

  Status RemoveEntries(int dir, const std::string& path, int depth) {
    STOKER_ASSIGN(std::vector<std::string> names, Names(dir, path));
    for (const std::string& name : names) {
      if (depth >= kMaxDepth && MoveUp(dir, name)) continue;
      STOKER_TRY(Remove(dir, name, path + "/" + name, depth + 1));
    }
    return Status::Ok();
  }

  static Result<std::vector<std::string>> Names(int fd, const std::string& path) {
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* dir = copy >= 0 ? fdopendir(copy) : nullptr;
    if (dir == nullptr) {
      int error = errno;
      if (copy >= 0) close(copy);
      return Failure(path, error);
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(dir)) {
      std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(std::move(name));
    }
    int error = errno;
    closedir(dir);
    if (error != 0) return Failure(path, error);
    return names;
  }

  // Puts a deep directory right under the top. False for anything else.
  bool MoveUp(int dir, const std::string& name) {
    struct stat info;
    if (fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode)) {
      return false;
    }
    if ((info.st_mode & 0700) != 0700) (void)fchmodat(dir, name.c_str(), 0700, 0);
    char target[40];
    std::snprintf(target, sizeof(target), ".removing-%016llx",
                  static_cast<unsigned long long>(RandomU64()));
    if (renameat(dir, name.c_str(), top_, target) != 0) return false;
    moved_ = true;
    return true;
  }

  int top_ = -1;
  bool moved_ = false;
};

}  // namespace

Status RemoveTree(const std::string& path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  if (trimmed.empty() || trimmed == "/" || trimmed == "." || trimmed == ".." ||
      EndsWith(trimmed, "/.") || EndsWith(trimmed, "/..")) {
    return Status(Code::kInvalid, "refusing to remove '" + Printable(path) + "'");
  }
  return Remover().Remove(AT_FDCWD, trimmed, trimmed, 0);
}

}  // namespace stoker::sys
