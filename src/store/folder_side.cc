// SPDX-License-Identifier: Apache-2.0
#include "store/folder_side.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <utility>

#include "base/text.h"
#include "store/folder_files.h"
#include "store/transfer_buffer.h"

namespace stoker {
namespace {

constexpr int64_t kWhole = 16 << 20;
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

WallTime Now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return {static_cast<int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000};
}

// One walk through a folder and all below it.
class Walk {
 public:
  Walk(std::string root, const std::function<void(ObjectInfo)>& each,
       const std::function<void(std::string, Status)>& odd)
      : root_(std::move(root)), each_(each), odd_(odd) {
    char* const real = realpath(root_.c_str(), nullptr);
    real_root_ = real == nullptr ? root_ : real;
    std::free(real);
  }

  // Takes `fd`. `prefix` is "" or ends with a slash.
  void Folder(int fd, const std::string& prefix) {
    DIR* const folder = fdopendir(fd);
    if (folder == nullptr) {
      odd_(prefix, ErrnoStatus("reading " + root_ + "/" + prefix, errno));
      close(fd);
      return;
    }
    std::vector<std::string> below;
    while (true) {
      errno = 0;
      const dirent* const entry = readdir(folder);
      if (entry == nullptr) break;
      const std::string name = entry->d_name;
      if (name == "." || name == ".." || EndsWith(name, folder::kPart)) continue;
      struct stat info {};
      if (fstatat(dirfd(folder), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) odd_(prefix + name, ErrnoStatus("looking at it", errno));
        continue;
      }
      if (S_ISDIR(info.st_mode))
        below.push_back(name);
      else
        Entry(dirfd(folder), prefix, name, info);
    }
    if (errno != 0) odd_(prefix, ErrnoStatus("reading " + root_ + "/" + prefix, errno));
    for (const std::string& name : below) {
      const int next = openat(dirfd(folder), name.c_str(), kFolder);
      if (next >= 0) {
        Folder(next, prefix + name + "/");
      } else if (errno != ENOENT) {
        odd_(prefix + name, ErrnoStatus("opening it", errno));
      }
    }
    closedir(folder);
  }

  void Entry(int fd, const std::string& prefix, const std::string& name, struct stat& info) {
    const std::string key = prefix + name;
    if (S_ISLNK(info.st_mode)) {
      if (fstatat(fd, name.c_str(), &info, 0) != 0) return Skip(key, "a link that leads nowhere");
      if (!S_ISREG(info.st_mode)) return Skip(key, "a link to what is no file");
      if (!LeadsInside(key)) return Skip(key, "a link that leads out of the folder");
    }
    if (!S_ISREG(info.st_mode)) return Skip(key, "neither a file nor a folder");
    each_(folder::InfoOf(key, info));
  }

 private:
  void Skip(const std::string& key, const std::string& why) { odd_(key, {Code::kInvalid, why}); }

  bool LeadsInside(const std::string& key) const {
    char* const real = realpath((root_ + "/" + key).c_str(), nullptr);
    const bool inside = real != nullptr && StartsWith(real, real_root_ + "/");
    std::free(real);
    return inside;
  }

  const std::string root_;
  std::string real_root_;
  const std::function<void(ObjectInfo)>& each_;
  const std::function<void(std::string, Status)>& odd_;
};

}  // namespace

Result<std::unique_ptr<FolderSide>> FolderSide::Open(const std::string& path, bool must_exist) {
  struct stat info {};
  std::string root = path;
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  if (stat(root.c_str(), &info) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) return ErrnoStatus(root, errno);
    if (must_exist) return Status(Code::kNotFound, root + ": there is no such file or folder");
    return std::unique_ptr<FolderSide>(new FolderSide(root, ""));
  }
  if (S_ISDIR(info.st_mode)) return std::unique_ptr<FolderSide>(new FolderSide(root, ""));
  if (!S_ISREG(info.st_mode) || !must_exist) {
    return Status(Code::kInvalid, root + " is not a folder", "Name a folder");
  }
  const size_t slash = root.rfind('/');
  const std::string parent = slash == 0 ? "/" : root.substr(0, slash);
  return std::unique_ptr<FolderSide>(new FolderSide(parent, root.substr(slash + 1)));
}

int64_t FolderSide::whole_bytes() const { return kWhole; }
int64_t FolderSide::memory(const ObjectReader&) const { return kTransferBuffer; }

Result<int> FolderSide::Root(bool create) {
  const std::lock_guard lock(mutex_);
  if (fd_.valid()) return fd_.get();
  if (create) STOKER_TRY(sys::MakeDirs(root_, 0777));
  STOKER_ASSIGN(fd_, sys::Open(root_, O_RDONLY | O_DIRECTORY));
  return fd_.get();
}

Result<sys::ScopedFd> FolderSide::Parent(const std::string& key, bool create) {
  if (!IsSafeRelativePath(key)) {
    return Status(Code::kInvalid, "'" + Printable(key) + "' cannot be a file here");
  }
  STOKER_ASSIGN(const int root, Root(create));
  sys::ScopedFd at(openat(root, ".", kFolder));
  size_t begin = 0;
  for (size_t slash = key.find('/'); slash != std::string::npos; slash = key.find('/', begin)) {
    const std::string name = key.substr(begin, slash - begin);
    begin = slash + 1;
    int next = openat(at.get(), name.c_str(), kFolder);
    if (next < 0 && errno == ENOENT && create) {
      if (mkdirat(at.get(), name.c_str(), 0777) != 0 && errno != EEXIST) {
        return ErrnoStatus("making the folder " + root_ + "/" + key.substr(0, slash), errno);
      }
      next = openat(at.get(), name.c_str(), kFolder);
    }
    if (next < 0 && (errno == ELOOP || errno == ENOTDIR)) {
      return Status(Code::kExists, root_ + "/" + key.substr(0, slash) + " is not a folder",
                    "Move it out of the way");
    }
    if (next < 0) return ErrnoStatus("opening " + root_ + "/" + key.substr(0, slash), errno);
    at.Reset(next);
  }
  if (!at.valid()) return ErrnoStatus("opening " + root_, errno);
  return at;
}

Status FolderSide::List(const std::function<void(ObjectInfo)>& each,
                        const std::function<void(std::string key, Status why)>& odd,
                        WallTime* now) {
  *now = Now();
  auto root = Root(false);
  if (root.code() == Code::kNotFound) return Status::Ok();
  if (!root.ok()) return root.status();
  Walk walk(root_, each, odd);
  if (!only_.empty()) {
    struct stat info {};
    if (fstatat(*root, only_.c_str(), &info, 0) != 0) return ErrnoStatus(url(), errno);
    each(folder::InfoOf(only_, info));
    return Status::Ok();
  }
  const int again = openat(*root, ".", kFolder);
  if (again < 0) return ErrnoStatus("reading " + root_, errno);
  walk.Folder(again, "");
  *now = Now();
  return Status::Ok();
}

Result<std::unique_ptr<ObjectReader>> FolderSide::OpenReader(const ObjectInfo& info) {
  STOKER_ASSIGN(const sys::ScopedFd folder, Parent(info.key, false));
  const std::string name = info.key.substr(info.key.rfind('/') + 1);
  const std::string path = root_ + "/" + info.key;
  // O_NONBLOCK: a pipe that somebody put there must not hang us.
  sys::ScopedFd fd(openat(folder.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("opening " + path, errno);
  return folder::MakeReader(std::move(fd), info, path);
}

Result<ObjectInfo> FolderSide::PutFrom(const std::string& key, ObjectReader& from) {
  STOKER_ASSIGN(sys::ScopedFd folder, Parent(key, true));
  folder::Place place{std::move(folder), key.substr(key.rfind('/') + 1), key, root_ + "/" + key};
  return folder::WriteWhole(std::move(place), from);
}

Result<std::unique_ptr<PartsUpload>> FolderSide::BeginParts(const std::string& key,
                                                            const ObjectInfo& from,
                                                            const std::string& resume) {
  STOKER_ASSIGN(sys::ScopedFd folder, Parent(key, true));
  folder::Place place{std::move(folder), key.substr(key.rfind('/') + 1), key, root_ + "/" + key};
  return folder::MakeParts(std::move(place), from, resume);
}

Status FolderSide::Settle() {
  auto root = Root(false);
  if (root.code() == Code::kNotFound) return Status::Ok();
  if (!root.ok()) return root.status();
  if (syncfs(*root) != 0) return ErrnoStatus("writing " + root_ + " to the disk", errno);
  return Status::Ok();
}

Status FolderSide::Delete(const std::string& key) {
  std::string at = key;
  int flags = 0;
  while (true) {
    auto folder = Parent(at, false);
    if (folder.code() == Code::kNotFound) return Status::Ok();
    if (!folder.ok()) return folder.status();
    const std::string name = at.substr(at.rfind('/') + 1);
    const int failed = unlinkat(folder->get(), name.c_str(), flags);
    if (failed != 0 && flags == 0 && errno != ENOENT) {
      return ErrnoStatus("deleting " + root_ + "/" + key, errno);
    }
    if (failed != 0 && flags != 0) return Status::Ok();  // it has something else in it
    // Folders that it leaves empty go with it.
    const size_t slash = at.rfind('/');
    if (slash == std::string::npos) return Status::Ok();
    at.resize(slash);
    flags = AT_REMOVEDIR;
  }
}

std::vector<OddKey> FolderSide::DeleteAll(const std::vector<std::string>& keys) {
  std::vector<OddKey> failed;
  for (const std::string& key : keys) {
    const Status status = Delete(key);
    if (!status.ok()) failed.push_back({key, status});
  }
  return failed;
}

}  // namespace stoker
