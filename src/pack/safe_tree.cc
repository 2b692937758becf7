// SPDX-License-Identifier: Apache-2.0
#include "pack/safe_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace stoker::pack {
namespace {

constexpr int kMaxDepth = 256;
constexpr size_t kMaxName = 255;
constexpr size_t kMaxPath = 4095;

Status Duplicate() { return Status(Code::kCorrupt, "the same name comes twice"); }

// A file or a link stands where a folder is needed.
Status Obstructed() {
  return Status(Code::kInvalid, "leads through a link or a file of the same archive");
}

Status NoSuchFile() {
  return Status(Code::kCorrupt, "is a hard link to what is no file of this archive");
}

timespec ToTimespec(int64_t ns) {
  const int64_t fraction = ((ns % 1'000'000'000) + 1'000'000'000) % 1'000'000'000;
  timespec time;
  time.tv_sec = (ns - fraction) / 1'000'000'000;
  time.tv_nsec = fraction;
  return time;
}

}  // namespace

Status CheckEntryName(std::string_view path) {
  if (StartsWith(path, "/")) return Status(Code::kInvalid, "has an absolute name");
  if (!IsSafeRelativePath(path)) {
    return Status(Code::kInvalid, "has an empty, '.' or '..' part in its name");
  }
  if (path.size() > kMaxPath) return Status(Code::kInvalid, "has a name of more than 4095 bytes");
  if (std::count(path.begin(), path.end(), '/') >= kMaxDepth) {
    return Status(Code::kInvalid, "is more than 256 folders deep");
  }
  while (!path.empty()) {
    const size_t slash = path.find('/');
    if (std::min(slash, path.size()) > kMaxName) {
      return Status(Code::kInvalid, "has a part of more than 255 bytes in its name");
    }
    path = slash == std::string_view::npos ? "" : path.substr(slash + 1);
  }
  return Status::Ok();
}

Result<int> SafeTree::OpenParent(const std::string& path, bool create, std::string& name) {
  std::vector<std::string> parts = Split(path, '/');
  name = std::move(parts.back());
  parts.pop_back();
  size_t same = 0;
  while (same < parts.size() && same < levels_.size() && parts[same] == levels_[same].name) ++same;
  levels_.resize(same);
  for (size_t i = same; i < parts.size(); ++i) {
    const int above = i == 0 ? root_ : levels_[i - 1].fd.get();
    const char* part = parts[i].c_str();
    if (create && mkdirat(above, part, 0700) == 0) {
      // Without an entry of its own it gets the usual mode.
      dirs_.emplace(Join({parts.begin(), parts.begin() + static_cast<long>(i) + 1}, "/"), 0);
    } else if (create && errno != EEXIST) {
      return ErrnoStatus("cannot make its folder", errno);
    }
    const int fd = openat(above, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
      if (errno == ELOOP || errno == ENOTDIR) return Obstructed();
      if (!create && errno == ENOENT) return NoSuchFile();
      return ErrnoStatus("cannot open its folder", errno);
    }
    levels_.push_back({std::move(parts[i]), sys::ScopedFd(fd)});
    parts[i] = levels_.back().name;
  }
  return levels_.empty() ? root_ : levels_.back().fd.get();
}

Status SafeTree::AddDir(const std::string& path, mode_t mode) {
  std::string name;
  STOKER_ASSIGN(int parent, OpenParent(path, true, name));
  // The owner keeps all rights: the tree must be usable, and removable.
  const mode_t wanted = (mode & 0777) | 0700;
  if (mkdirat(parent, name.c_str(), 0700) == 0) {
    dirs_.emplace(path, wanted);
    return Status::Ok();
  }
  if (errno != EEXIST) return ErrnoStatus("cannot make it", errno);
  // Made before as the folder of another entry is fine, once; anything else is not.
  auto made = dirs_.find(path);
  if (made == dirs_.end() || made->second != 0) return Duplicate();
  made->second = wanted;
  return Status::Ok();
}

Status SafeTree::AddLink(const std::string& path, const std::string& target, int64_t mtime_ns) {
  std::string name;
  if (target.empty()) return Status(Code::kCorrupt, "is a link that leads nowhere");
  STOKER_ASSIGN(int parent, OpenParent(path, true, name));
  if (symlinkat(target.c_str(), parent, name.c_str()) != 0) {
    return errno == EEXIST ? Duplicate() : ErrnoStatus("cannot make the link", errno);
  }
  const timespec times[2] = {ToTimespec(mtime_ns), ToTimespec(mtime_ns)};
  (void)utimensat(parent, name.c_str(), times, AT_SYMLINK_NOFOLLOW);  // not all file systems can
  return Status::Ok();
}

Status SafeTree::AddHardLink(const std::string& path, const std::string& target) {
  Status status = CheckEntryName(target);
  if (!status.ok()) return status.WithContext("is a hard link to '" + Printable(target) + "'");
  std::string name;
  STOKER_ASSIGN(int from, OpenParent(target, false, name));
  struct stat info;
  if (fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) {
    return NoSuchFile();
  }
  // OpenParent closes what it gave before, so this one is kept.
  sys::ScopedFd source(fcntl(from, F_DUPFD_CLOEXEC, 0));
  if (!source.valid()) return ErrnoStatus("cannot make the hard link", errno);
  std::string link;
  STOKER_ASSIGN(int parent, OpenParent(path, true, link));
  if (linkat(source.get(), name.c_str(), parent, link.c_str(), 0) != 0) {
    return errno == EEXIST ? Duplicate() : ErrnoStatus("cannot make the hard link", errno);
  }
  return Status::Ok();
}

Result<sys::ScopedFd> SafeTree::CreateFile(const std::string& path) {
  std::string name;
  STOKER_ASSIGN(int parent, OpenParent(path, true, name));
  const int fd =
      openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return errno == EEXIST ? Duplicate() : ErrnoStatus("cannot make it", errno);
  return sys::ScopedFd(fd);
}

Status SafeTree::FinishFile(sys::ScopedFd file, mode_t mode, int64_t mtime_ns) {
  const timespec times[2] = {ToTimespec(mtime_ns), ToTimespec(mtime_ns)};
  if (fchmod(file.get(), mode & 0777) != 0) return ErrnoStatus("cannot set its mode", errno);
  // A time that the file system cannot hold is no reason to fail.
  (void)futimens(file.get(), times);
  if (close(file.Release()) != 0 && errno != EINTR) return ErrnoStatus("cannot write it", errno);
  return Status::Ok();
}

Status SafeTree::Finish() {
  levels_.clear();
  for (const auto& [path, mode] : dirs_) {
    if (mode == 0700) continue;
    // The tree is private until it is renamed: what was made as a folder still is one.
    if (fchmodat(root_, path.c_str(), mode == 0 ? 0755 : mode, 0) != 0) {
      return ErrnoStatus("cannot set the mode of '" + Printable(path) + "'", errno);
    }
  }
  return Status::Ok();
}

}  // namespace stoker::pack
