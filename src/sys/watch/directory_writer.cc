// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "base/text.h"
#include "sys/file.h"
#include "sys/file_times.h"
#include "sys/sparse_write.h"
#include "sys/watch/checkpoint_files.h"
#include "sys/watch/directory_scan.h"

namespace stoker {
namespace {

constexpr char kTemporary[] = ".stoker-new-";
constexpr int kLooks = 50;  // a ms apart: the clock of most file systems goes on within ten

constexpr int64_t kNanos = 1'000'000'000;

timespec TimeOf(int64_t ns) {
  const int64_t rest = (ns % kNanos + kNanos) % kNanos;
  return {(ns - rest) / kNanos, rest};
}

Status Lies(const std::string& path) {
  return Status(Code::kExists, "'" + Printable(path) + "' is there already");
}

// Makes room for `name` in `folder`, whose path is `folder_path`, as far as that is allowed.
Status ClearWay(InTheWay allowed, int folder, const std::string& folder_path,
                const std::string& name) {
  const std::string path = folder_path + "/" + name;
  if (allowed == InTheWay::kRemove) return sys::RemoveTree(path);
  if (allowed == InTheWay::kRefuse) return sys::FileExists(path) ? Lies(path) : Status::Ok();
  if (unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return Status::Ok();
  return errno == EISDIR || errno == EPERM ? Lies(path) : ErrnoStatus("'" + path + "'", errno);
}

// rename(2) onto a name that must not be taken. Where the file system has no such call, a second
// name is made and the first removed.
int RenameAnew(int folder, const std::string& from, const std::string& to) {
  if (renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (linkat(folder, from.c_str(), folder, to.c_str(), 0) != 0) return -1;
  return unlinkat(folder, from.c_str(), 0);
}

class RealNewFile : public NewFile {
 public:
  RealNewFile(sys::ScopedFd folder, std::string folder_path, std::string name, InTheWay allowed)
      : folder_(std::move(folder)),
        folder_path_(std::move(folder_path)),
        name_(std::move(name)),
        allowed_(allowed) {}
  ~RealNewFile() override {
    if (fd_.valid()) (void)unlinkat(folder_.get(), temporary_.c_str(), 0);
  }

  Status Open() {
    char suffix[24];
    std::snprintf(suffix, sizeof(suffix), "%016llx",
                  static_cast<unsigned long long>(sys::RandomU64()));
    temporary_ = std::string(kTemporary) + suffix;
    fd_.Reset(openat(folder_.get(), temporary_.c_str(),
                     O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    return fd_.valid() ? Status::Ok() : Failed();
  }

  Status Write(std::string_view bytes) override {
    STOKER_TRY(WriteAt(next_, bytes));
    next_ += static_cast<int64_t>(bytes.size());
    return Status::Ok();
  }

  bool ranged() const override { return true; }
  // Blocks of zeros become holes: a file that had some would not fit where it came from.
  Status WriteAt(int64_t offset, std::string_view bytes) override {
    const int64_t end = offset + static_cast<int64_t>(bytes.size());
    {
      const std::lock_guard lock(mutex_);
      end_ = std::max(end_, end);
    }
    return sys::WriteSparse(fd_.get(), offset, bytes) ? Status::Ok() : Failed();
  }
  Result<int64_t> ReadAt(int64_t offset, char* buffer, int64_t size) override {
    STOKER_ASSIGN(const int64_t got, Get(offset, buffer, size));
    const std::lock_guard lock(mutex_);
    const int64_t there = std::clamp<int64_t>(end_ - offset, 0, size);
    if (got < there) std::memset(buffer + got, 0, static_cast<size_t>(there - got));
    return std::max(got, there);
  }

  Status Commit(int mode, int64_t mtime_ns) override {
    const timespec time = TimeOf(mtime_ns);
    const timespec times[2] = {time, time};
    struct stat info;
    // A hole at the end.
    const bool whole =
        fstat(fd_.get(), &info) == 0 && (info.st_size >= end_ || ftruncate(fd_.get(), end_) == 0);
    if (!whole || fchmod(fd_.get(), static_cast<mode_t>(mode & 0777)) != 0) return Failed();
    (void)futimens(fd_.get(), times);
    for (int attempt = 0;; ++attempt) {
      if (Rename() == 0) break;
      if (errno == EEXIST) return Lies(folder_path_ + "/" + name_);
      if (errno != EISDIR || attempt > 0) return Failed();
      STOKER_TRY(ClearWay(allowed_, folder_.get(), folder_path_, name_));
    }
    fd_.Reset();
    return Status::Ok();
  }

 private:
  Result<int64_t> Get(int64_t offset, char* buffer, int64_t size) const {
    while (true) {
      const ssize_t got = pread(fd_.get(), buffer, static_cast<size_t>(size), offset);
      if (got >= 0) return static_cast<int64_t>(got);
      if (errno != EINTR) return ErrnoStatus("cannot read '" + Printable(name_) + "'", errno);
    }
  }
  int Rename() {
    if (allowed_ == InTheWay::kRefuse) return RenameAnew(folder_.get(), temporary_, name_);
    return renameat(folder_.get(), temporary_.c_str(), folder_.get(), name_.c_str());
  }
  Status Failed() const {
    return ErrnoStatus("cannot write '" + Printable(folder_path_ + "/" + name_) + "'", errno);
  }

  sys::ScopedFd folder_;
  std::string folder_path_;
  std::string name_;
  InTheWay allowed_;
  std::string temporary_;
  sys::ScopedFd fd_;
  int64_t next_ = 0;  // of Write
  std::mutex mutex_;
  int64_t end_ = 0;  // of what was written, guarded by mutex_; the file may be shorter by a hole
};

class RealDirectoryWriter : public DirectoryWriter {
 public:
  RealDirectoryWriter(std::string root, sys::ScopedFd fd, InTheWay allowed)
      : root_(std::move(root)), fd_(std::move(fd)), allowed_(allowed) {}

  Result<std::unique_ptr<NewFile>> Create(const std::string& path) override {
    std::string name;
    std::string folder_path;
    STOKER_ASSIGN(sys::ScopedFd folder, Parent(path, &name, &folder_path));
    auto file = std::make_unique<RealNewFile>(std::move(folder), folder_path, name, allowed_);
    STOKER_TRY(file->Open());
    return std::unique_ptr<NewFile>(std::move(file));
  }

  Status MakeLink(const std::string& path, const std::string& target) override {
    std::string name;
    std::string folder_path;
    STOKER_ASSIGN(sys::ScopedFd folder, Parent(path, &name, &folder_path));
    STOKER_TRY(ClearWay(allowed_, folder.get(), folder_path, name));
    if (symlinkat(target.c_str(), folder.get(), name.c_str()) != 0) {
      return ErrnoStatus("cannot make the link '" + Printable(path) + "'", errno);
    }
    return Status::Ok();
  }

  Status MakeDirectory(const std::string& path) override {
    std::string name;
    std::string folder_path;
    STOKER_ASSIGN(sys::ScopedFd folder, Parent(path + "/x", &name, &folder_path));
    return Status::Ok();
  }

  Status Rename(const std::string& from, const std::string& to, bool newer) override {
    Place source;
    Place place;
    STOKER_TRY(Find(from, &source));
    STOKER_TRY(Find(to, &place));
    for (int attempt = 0; renameat(source.folder.get(), source.name.c_str(), place.folder.get(),
                                   place.name.c_str()) != 0;
         ++attempt) {
      const bool in_the_way = errno == EISDIR || errno == ENOTDIR || errno == ENOTEMPTY;
      if (!in_the_way || attempt > 0) {
        return ErrnoStatus("cannot name '" + Printable(to) + "'", errno);
      }
      STOKER_TRY(ClearWay(allowed_, place.folder.get(), place.path, place.name));
    }
    NoteNamed(place, newer);
    return Status::Ok();
  }

  Status MakeHardLink(const std::string& path, const std::string& of) override {
    Place place;
    Place known;
    STOKER_TRY(Find(path, &place));
    STOKER_TRY(Find(of, &known));
    STOKER_TRY(ClearWay(allowed_, place.folder.get(), place.path, place.name));
    if (linkat(known.folder.get(), known.name.c_str(), place.folder.get(), place.name.c_str(), 0) !=
        0) {
      return ErrnoStatus("cannot make another name of '" + Printable(of) + "'", errno);
    }
    NoteNamed(place, false);
    return Status::Ok();
  }

  Status RemoveOthers(const std::set<std::string>& keep, const Spares& spares) override {
    std::set<std::string> parents;
    for (const std::string& path : keep) {
      for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
        parents.insert(path.substr(0, at));
      }
    }
    return RemoveIn("", keep, parents, spares);
  }

 private:
  struct Place {
    sys::ScopedFd folder;
    std::string name;
    std::string path;  // of the folder
  };
  Status Find(const std::string& path, Place* place) {
    STOKER_ASSIGN(place->folder, Parent(path, &place->name, &place->path));
    return Status::Ok();
  }

  // The kernel stamps names that are made within some ms of each other alike: what is to be newer
  // is touched until it is.
  void NoteNamed(const Place& place, bool newer) {
    for (int looks = 0;; ++looks) {
      struct stat info;
      if (fstatat(place.folder.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return;
      const int64_t changed = sys::NanosOf(info.st_ctim);
      if (changed > newest_ || !newer || !tells_apart_) {
        newest_ = std::max(newest_, changed);
        return;
      }
      if (looks == kLooks) {
        tells_apart_ = false;  // or only by seconds: nobody waits for that
        return;
      }
      usleep(1000);
      const timespec times[2] = {info.st_atim, info.st_mtim};
      (void)utimensat(place.folder.get(), place.name.c_str(), times, AT_SYMLINK_NOFOLLOW);
    }
  }

  Status RemoveIn(const std::string& folder, const std::set<std::string>& keep,
                  const std::set<std::string>& parents, const Spares& spares) {
    STOKER_ASSIGN(auto entries, sys::ListDir(folder.empty() ? root_ : root_ + "/" + folder));
    for (const sys::DirEntry& entry : entries) {
      const std::string path = folder.empty() ? entry.name : folder + "/" + entry.name;
      if (keep.count(path) != 0 || (spares && folder.empty() && spares(path))) continue;
      if (parents.count(path) != 0 && entry.is_dir) {
        STOKER_TRY(RemoveIn(path, keep, parents, spares));
      } else {
        STOKER_TRY(sys::RemoveTree(root_ + "/" + path));
      }
    }
    return Status::Ok();
  }

  // The folder of `path`, made where needed. What lies in the way (a file, a link) is removed, or
  // refused: a link could lead anywhere.
  Result<sys::ScopedFd> Parent(const std::string& path, std::string* name,
                               std::string* folder_path) {
    if (!IsSafeRelativePath(path)) {
      return Status(Code::kInvalid, "unsafe path '" + Printable(path) + "'");
    }
    const std::vector<std::string> parts = Split(path, '/');
    *name = parts.back();
    *folder_path = root_;
    sys::ScopedFd folder(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      *folder_path += "/" + parts[i];
      sys::ScopedFd next;
      int error = 0;
      for (int attempt = 0; attempt < 2 && !next.valid(); ++attempt) {
        const int made = mkdirat(folder.get(), parts[i].c_str(), 0755) == 0 ? 0 : errno;
        next.Reset(openat(folder.get(), parts[i].c_str(),
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        // What is not there says nothing; why it could not be made does.
        error = errno == ENOENT && made != 0 && made != EEXIST ? made : errno;
        if (next.valid() || attempt > 0) break;
        const std::string above = folder_path->substr(0, folder_path->rfind('/'));
        STOKER_TRY(ClearWay(allowed_, folder.get(), above, parts[i]));
      }
      if (!next.valid()) {
        return ErrnoStatus("cannot make the folder '" + Printable(*folder_path) + "'", error);
      }
      folder = std::move(next);
    }
    return folder;
  }

  const std::string root_;
  sys::ScopedFd fd_;
  const InTheWay allowed_;
  int64_t newest_ = 0;  // ctime of what was named
  bool tells_apart_ = true;
};

}  // namespace

Result<std::unique_ptr<DirectoryWriter>> OpenDirectoryWriter(const std::string& directory,
                                                             InTheWay in_the_way) {
  STOKER_TRY(sys::MakeDirs(directory));
  STOKER_ASSIGN(std::string real, sys::RealPath(directory));
  STOKER_ASSIGN(sys::ScopedFd fd, sys::Open(real, O_RDONLY | O_DIRECTORY));
  return std::unique_ptr<DirectoryWriter>(
      std::make_unique<RealDirectoryWriter>(real, std::move(fd), in_the_way));
}

}  // namespace stoker
