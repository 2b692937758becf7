// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/directory_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "sys/file.h"
#include "sys/file_times.h"

namespace stoker {
namespace {

constexpr int kMaxDepth = 250;  // each level of a walk has a descriptor
constexpr int kTries = 4;

// `target` of the link at `path`, made relative; "" when it leads out of `root`.
std::string TargetInside(const std::string& root, const std::string& path,
                         const std::string& target) {
  std::string from_root;
  if (StartsWith(target, root + "/")) {
    from_root = target.substr(root.size() + 1);
  } else if (target.empty() || target[0] == '/') {
    return "";
  }
  std::vector<std::string> parts;
  std::vector<std::string> folder = Split(path, '/');
  folder.pop_back();
  if (from_root.empty()) parts = folder;
  for (const std::string& part : Split(from_root.empty() ? target : from_root, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return "";
    } else {
      parts.pop_back();
    }
  }
  if (parts.empty()) return "";
  if (from_root.empty()) return target;
  std::string out;
  for (size_t i = 0; i < folder.size(); ++i) out += "../";
  return out + Join(parts, "/");
}

// Whether this process may read a file. Asks the kernel only where the mode does not tell.
bool MayRead(int dir, const std::string& name, const struct stat& info) {
  const uid_t user = geteuid();
  if (user == 0) return true;
  if (info.st_uid == user) return (info.st_mode & S_IRUSR) != 0;
  return faccessat(dir, name.c_str(), R_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 ||
         errno == ENOENT;
}

class Lister {
 public:
  Lister(const std::string& root, const TreeFilter& filter, Tree* out)
      : root_(root), filter_(filter), out_(out) {}

  Status ListOnly(int dir, const std::string& name) {
    struct stat info;
    const bool there = fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    Status status = there ? Look(dir, name, name, 0) : Status::Ok();
    close(dir);
    return status;
  }

  Status List(int dir, const std::string& path, int depth) {
    DIR* stream = fdopendir(dir);
    if (stream == nullptr) {
      const int error = errno;
      close(dir);
      return ErrnoStatus("cannot list '" + Printable(path) + "'", error);
    }
    Status status;
    bool empty = true;
    const int64_t before = ChangedAt(dirfd(stream));
    while (const dirent* entry = readdir(stream)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      empty = false;
      const std::string below = path.empty() ? name : path + "/" + name;
      const bool folder = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
      if (!folder && filter_.named && !filter_.named(below)) continue;
      status = Look(dirfd(stream), name, below, depth);
      if (!status.ok()) break;
    }
    out_->torn = out_->torn || ChangedAt(dirfd(stream)) != before;
    if (empty && !path.empty()) {
      struct stat info;
      if (fstat(dirfd(stream), &info) == 0 && Wanted(FactOf(path, info))) {
        out_->files.push_back(FactOf(path, info));
      }
    }
    closedir(stream);
    return status;
  }

 private:
  static int64_t ChangedAt(int dir) {
    struct stat info;
    return fstat(dir, &info) == 0 ? FactOf("", info).mtime_ns : -1;
  }

  bool Wanted(const FileFact& fact) const { return !filter_.wanted || filter_.wanted(fact); }

  Status Look(int dir, const std::string& name, const std::string& path, int depth) {
    struct stat info;
    if (fstatat(dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return Status::Ok();
      return ErrnoStatus("cannot look at '" + Printable(path) + "'", errno);
    }
    if (S_ISDIR(info.st_mode)) {
      if (filter_.enter && !filter_.enter(path)) return Status::Ok();
      if (depth >= kMaxDepth || info.st_dev != out_->device) {
        out_->skipped.push_back({path, SkipReason::kElsewhere});
        return Status::Ok();
      }
      const int below = openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (below < 0) {
        if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return Status::Ok();
        const Status why = ErrnoStatus("cannot open '" + Printable(path) + "'", errno);
        if (filter_.closed) {
          filter_.closed(path, why);
        } else if (!why.Is(Code::kDenied)) {
          return why;
        } else {
          out_->skipped.push_back({path, SkipReason::kUnreadable});
        }
        return Status::Ok();
      }
      return List(below, path, depth + 1);
    }
    FileFact fact = FactOf(path, info);
    if (filter_.wanted && !filter_.wanted(fact)) return Status::Ok();
    if (S_ISLNK(info.st_mode)) {
      char target[4096];
      const ssize_t length = readlinkat(dir, name.c_str(), target, sizeof(target));
      if (length < 0) return Status::Ok();
      fact.target = TargetInside(root_, path, std::string(target, static_cast<size_t>(length)));
      if (fact.target.empty()) {
        out_->skipped.push_back({path, SkipReason::kLeadsOut});
        return Status::Ok();
      }
    } else if (!S_ISREG(info.st_mode)) {
      out_->skipped.push_back({path, SkipReason::kNoFile});
      return Status::Ok();
    } else if (!MayRead(dir, name, info)) {
      out_->skipped.push_back({path, SkipReason::kUnreadable});
      return Status::Ok();
    } else if (sys::IsCoreDump(dir, name)) {
      out_->skipped.push_back({path, SkipReason::kCoreDump});
      return Status::Ok();
    }
    out_->inodes[path] = {info.st_dev, info.st_ino};
    out_->files.push_back(std::move(fact));
    return Status::Ok();
  }

  const std::string& root_;
  const TreeFilter& filter_;
  Tree* out_;
};

}  // namespace

FileFact FactOf(const std::string& path, const struct stat& info) {
  FileFact fact;
  fact.path = path;
  fact.kind = S_ISDIR(info.st_mode)   ? FileKind::kDirectory
              : S_ISLNK(info.st_mode) ? FileKind::kLink
                                      : FileKind::kFile;
  fact.ino = info.st_ino;
  fact.size = S_ISREG(info.st_mode) ? info.st_size : 0;
  fact.allocated = static_cast<int64_t>(info.st_blocks) * 512;
  fact.mtime_ns = sys::NanosOf(info.st_mtim);
  fact.ctime_ns = sys::NanosOf(info.st_ctim);
  fact.mode = static_cast<int>(info.st_mode & 0777);
  return fact;
}

namespace {

Result<Tree> ListOnce(const std::string& root, const std::string& only, const TreeFilter& filter) {
  Tree tree;
  const int dir = open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) {
    if (errno == ENOENT) return tree;
    return ErrnoStatus("cannot open '" + Printable(root) + "'", errno);
  }
  struct stat info;
  if (fstat(dir, &info) == 0) tree.device = info.st_dev;
  Lister lister(root, filter, &tree);
  STOKER_TRY(only.empty() ? lister.List(dir, "", 0) : lister.ListOnly(dir, only));
  std::sort(tree.files.begin(), tree.files.end(),
            [](const FileFact& a, const FileFact& b) { return a.path < b.path; });
  return tree;
}

}  // namespace

Result<Tree> ListTree(const std::string& root, const std::string& only, const TreeFilter& filter) {
  for (int tries = 1;; ++tries) {
    STOKER_ASSIGN(Tree tree, ListOnce(root, only, filter));
    if (!tree.torn || tries == kTries) return tree;
  }
}

Status WalkTree(const std::string& root, const TreeFilter& filter) {
  return ListOnce(root, "", filter).status();
}

}  // namespace stoker
