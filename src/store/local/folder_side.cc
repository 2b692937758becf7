// SPDX-License-Identifier: Apache-2.0
#include "store/local/folder_side.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <utility>

#include "base/text.h"
#include "store/bytes/transfer_buffer.h"
#include "store/local/folder_files.h"
#include "store/local/folder_part.h"

namespace stoker {
namespace {

constexpr int64_t kWhole = 16 << 20;
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

WallTime Now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return {static_cast<int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000};
}

// One walk through a folder and all below it.
class Walk {
 public:
  // `set_aside`: null: what a killed run has left is odd; else it has its name back, or, where
  // that is taken, becomes one of these keys.
  Walk(std::string root, const std::function<void(ObjectInfo)>& each,
       const std::function<void(std::string, Status)>& odd,
       std::map<std::string, folder::Identity>* folders, std::vector<std::string>* set_aside)
      : root_(std::move(root)),
        real_root_(RealPath(root_)),
        blobs_(BlobsOf(real_root_)),
        each_(each),
        odd_(odd),
        folders_(folders),
        set_aside_(set_aside) {}

  // Takes `fd`. `prefix` is "" or ends with a slash.
  void Folder(int fd, const std::string& prefix) {
    const auto identity = folder::IdentityOf(fd);
    if (identity.ok()) (*folders_)[prefix.substr(0, prefix.rfind('/'))] = *identity;
    DIR* const folder = fdopendir(fd);
    if (folder == nullptr) {
      odd_(prefix, ErrnoStatus("reading " + root_ + "/" + prefix, errno));
      close(fd);
      return;
    }
    std::vector<std::string> below;
    std::vector<std::string> asides;
    while (true) {
      errno = 0;
      const dirent* const entry = readdir(folder);
      if (entry == nullptr) break;
      const std::string name = entry->d_name;
      if (name == "." || name == ".." || folder::IsPartName(name)) continue;
      if (folder::NameOfAside(name).empty()) {
        LookAt(dirfd(folder), prefix, name, &below);
      } else {
        asides.push_back(name);
      }
    }
    if (errno != 0) odd_(prefix, ErrnoStatus("reading " + root_ + "/" + prefix, errno));
    for (const std::string& name : asides) Aside(dirfd(folder), prefix, name, &below);
    for (const std::string& name : below) {
      const int next = openat(dirfd(folder), name.c_str(), kOpenFolder);
      if (next >= 0) {
        Folder(next, prefix + name + "/");
      } else if (errno != ENOENT) {
        odd_(prefix + name, ErrnoStatus("opening it", errno));
      }
    }
    closedir(folder);
  }

  void LookAt(int fd, const std::string& prefix, const std::string& name,
              std::vector<std::string>* below) {
    struct stat info {};
    if (fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) odd_(prefix + name, ErrnoStatus("looking at it", errno));
    } else if (S_ISDIR(info.st_mode)) {
      below->push_back(name);
    } else {
      Entry(fd, prefix, name, info);
    }
  }

  void Aside(int fd, const std::string& prefix, const std::string& aside,
             std::vector<std::string>* below) {
    const std::string name = folder::NameOfAside(aside);
    if (set_aside_ == nullptr) return Skip(prefix + aside, "set aside by a sync that was killed");
    struct stat info {};
    const bool taken = fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (taken || errno != ENOENT || renameat(fd, aside.c_str(), fd, name.c_str()) != 0) {
      set_aside_->push_back(prefix + name);
    } else {
      LookAt(fd, prefix, name, below);
    }
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

  // "" = there is none.
  static std::string RealPath(const std::string& path) {
    char* const real = realpath(path.c_str(), nullptr);
    const std::string out = real == nullptr ? "" : real;
    std::free(real);
    return out;
  }

  // "How-to: Understand caching" (huggingface_hub): REPO/snapshots/REVISION has a link for each
  // file, into REPO/blobs. "" = `root` lies in no such folder of snapshots.
  static std::string BlobsOf(const std::string& root) {
    const std::string snapshots = "/snapshots/";
    const std::string path = root + "/";
    for (size_t at = path.rfind(snapshots); at != std::string::npos && at > 0;
         at = path.rfind(snapshots, at - 1)) {
      const std::string blobs = RealPath(path.substr(0, at) + "/blobs");
      if (!blobs.empty() && sys::DirExists(blobs)) return blobs;
    }
    return "";
  }

  bool LeadsInside(const std::string& key) {
    const std::string real = RealPath(root_ + "/" + key);
    if (StartsWith(real, real_root_ + "/")) return true;
    if (blobs_.empty() || !StartsWith(real, blobs_ + "/")) return false;
    // It is read as part of the source: nothing may be written there.
    const auto fd = sys::Open(blobs_, O_PATH | O_DIRECTORY);
    const auto identity = fd.ok() ? folder::IdentityOf(fd->get()) : fd.status();
    if (identity.ok()) (*folders_)["*, which links into " + blobs_] = *identity;
    return true;
  }

  const std::string root_;
  const std::string real_root_;
  const std::string blobs_;
  const std::function<void(ObjectInfo)>& each_;
  const std::function<void(std::string, Status)>& odd_;
  std::map<std::string, folder::Identity>* const folders_;
  std::vector<std::string>* const set_aside_;
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

Status FolderSide::CheckApart(const FolderSide& source) const {
  if (!sys::DirExists(source.root_)) return Status::Ok();
  return folder::CheckNesting(source.root_, !source.only_.empty(), root_);
}

Status FolderSide::KeepApart(const FolderSide& source) {
  std::map<folder::Identity, std::string> theirs;
  for (const auto& [prefix, identity] : source.folders_) theirs.emplace(identity, prefix);
  if (!source.only_.empty()) {
    const auto around = folder::ChainOf(source.root_);
    if (around.ok()) theirs.emplace(around->folders.front(), "");
  }
  for (const auto& [prefix, identity] : folders_) {
    const auto found = theirs.find(identity);
    if (found == theirs.end()) continue;
    const auto name = [](const std::string& root, const std::string& below) {
      return below.empty() ? root : root + "/" + Printable(below);
    };
    return Status(Code::kUsage,
                  name(root_, prefix) + " is the same folder as " +
                      name(source.root_, found->second) + ", as by a mount",
                  "Name two places that have nothing in common");
  }
  for (const auto& [identity, prefix] : theirs) theirs_.push_back(identity);
  return Status::Ok();
}

bool FolderSide::Holds(const std::string& path) const {
  const auto mine = folder::ChainOf(root_);
  const auto theirs = folder::ChainOf(path);
  if (!mine.ok() || !mine->whole || !theirs.ok() || !theirs->whole) return false;
  return std::find(theirs->folders.begin(), theirs->folders.end(), mine->folders.front()) !=
         theirs->folders.end();
}

Status FolderSide::MayEnter(int fd, const std::string& prefix, For what) const {
  if (what == For::kRead) return Status::Ok();
  STOKER_ASSIGN(const folder::Identity here, folder::IdentityOf(fd));
  if (std::binary_search(theirs_.begin(), theirs_.end(), here)) {
    return Status(Code::kConflict, root_ + "/" + prefix + " is a folder of the source by now");
  }
  if (what == For::kWrite) return Status::Ok();
  const auto listed = folders_.find(prefix);
  if (listed != folders_.end() && listed->second == here) return Status::Ok();
  return Status(Code::kConflict,
                root_ + "/" + prefix + " is not the folder any more that it was at the beginning");
}

Result<sys::ScopedFd> FolderSide::Parent(const std::string& key, For what) {
  const bool create = what == For::kWrite;
  if (!IsSafeRelativePath(key)) {
    return Status(Code::kInvalid, "'" + Printable(key) + "' cannot be a file here");
  }
  STOKER_ASSIGN(const int root, Root(create));
  sys::ScopedFd at(openat(root, ".", kOpenFolder));
  if (!at.valid()) return ErrnoStatus("opening " + root_, errno);
  STOKER_TRY(MayEnter(at.get(), "", what));
  size_t begin = 0;
  for (size_t slash = key.find('/'); slash != std::string::npos; slash = key.find('/', begin)) {
    const std::string name = key.substr(begin, slash - begin);
    begin = slash + 1;
    int next = openat(at.get(), name.c_str(), kOpenFolder);
    if (next < 0 && (errno == ELOOP || errno == ENOTDIR) && create && asides_) {
      STOKER_TRY(asides_->MakeWay(at.get(), name, key.substr(0, slash), true).WithContext(root_));
      errno = ENOENT;
    }
    if (next < 0 && errno == ENOENT && create) {
      if (mkdirat(at.get(), name.c_str(), 0777) != 0 && errno != EEXIST) {
        return ErrnoStatus("making the folder " + root_ + "/" + key.substr(0, slash), errno);
      }
      next = openat(at.get(), name.c_str(), kOpenFolder);
    }
    if (next < 0 && (errno == ELOOP || errno == ENOTDIR)) {
      return Status(Code::kExists, root_ + "/" + key.substr(0, slash) + " is not a folder",
                    "Move it out of the way");
    }
    if (next < 0) return ErrnoStatus("opening " + root_ + "/" + key.substr(0, slash), errno);
    at.Reset(next);
    STOKER_TRY(MayEnter(at.get(), key.substr(0, slash), what));
  }
  return at;
}

Status FolderSide::List(const std::function<void(ObjectInfo)>& each,
                        const std::function<void(std::string key, Status why)>& odd,
                        WallTime* now) {
  *now = Now();
  auto root = Root(false);
  if (root.code() == Code::kNotFound) return Status::Ok();
  if (!root.ok()) return root.status();
  folders_.clear();
  set_aside_.clear();
  Walk walk(root_, each, odd, &folders_, recover_ ? &set_aside_ : nullptr);
  if (!only_.empty()) {
    struct stat info {};
    if (fstatat(*root, only_.c_str(), &info, 0) != 0) return ErrnoStatus(url(), errno);
    each(folder::InfoOf(only_, info));
    return Status::Ok();
  }
  const int again = openat(*root, ".", kOpenFolder);
  if (again < 0) return ErrnoStatus("reading " + root_, errno);
  walk.Folder(again, "");
  *now = Now();
  return Status::Ok();
}

Result<std::unique_ptr<ObjectReader>> FolderSide::OpenReader(const ObjectInfo& info) {
  STOKER_ASSIGN(const sys::ScopedFd folder, Parent(info.key, For::kRead));
  const std::string name = info.key.substr(info.key.rfind('/') + 1);
  const std::string path = root_ + "/" + info.key;
  // O_NONBLOCK: a pipe that somebody put there must not hang us.
  sys::ScopedFd fd(openat(folder.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("opening " + path, errno);
  return folder::MakeReader(std::move(fd), info, path);
}

Result<folder::Place> FolderSide::PlaceOf(const std::string& key) {
  STOKER_ASSIGN(sys::ScopedFd folder, Parent(key, For::kWrite));
  folder::Place place{std::move(folder), key.substr(key.rfind('/') + 1), key, root_ + "/" + key};
  if (asides_) {
    place.make_way = [this, fd = place.folder.get(), name = place.name, key] {
      return asides_->MakeWay(fd, name, key, false).WithContext(root_);
    };
  }
  if (theirs_.empty() && folders_.empty()) return place;
  place.written = [this](const ObjectInfo& info) {
    const std::lock_guard lock(mutex_);
    written_.insert(std::hash<Version>()(info.version));
  };
  return place;
}

Result<ObjectInfo> FolderSide::PutFrom(const std::string& key, ObjectReader& from) {
  STOKER_ASSIGN(folder::Place place, PlaceOf(key));
  return folder::WriteWhole(std::move(place), from);
}

Result<std::unique_ptr<PartsUpload>> FolderSide::BeginParts(const std::string& key,
                                                            const ObjectInfo& from,
                                                            const std::string& resume) {
  STOKER_ASSIGN(folder::Place place, PlaceOf(key));
  return folder::MakeParts(std::move(place), from, resume);
}

Status FolderSide::Settle() {
  auto root = Root(false);
  if (root.code() == Code::kNotFound) return Status::Ok();
  if (!root.ok()) return root.status();
  if (syncfs(*root) != 0) return ErrnoStatus("writing " + root_ + " to the disk", errno);
  return Status::Ok();
}

Result<bool> FolderSide::SetExecutable(const std::string& key, bool executable) {
  STOKER_ASSIGN(const sys::ScopedFd folder, Parent(key, For::kWrite));
  const std::string name = key.substr(key.rfind('/') + 1);
  const sys::ScopedFd fd(
      openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid() && errno == ELOOP) return false;  // a link, and the file is what it leads to
  if (!fd.valid()) return ErrnoStatus("opening " + root_ + "/" + key, errno);
  return folder::MarkExecutable(fd.get(), executable);
}

void FolderSide::LetReplace(std::function<bool(const std::string& key)> may) {
  asides_ = std::make_unique<folder::Asides>(
      std::move(may), [this](int fd, const std::string& key, bool listed) {
        return MayEnter(fd, key, listed ? For::kDelete : For::kWrite);
      });
  for (const std::string& key : set_aside_) {
    auto parent = Parent(key, For::kDelete);
    if (!parent.ok()) continue;  // nobody can remove it now: it is found again
    asides_->Adopt(std::move(*parent), key.substr(key.rfind('/') + 1), key);
  }
}

std::vector<OddKey> FolderSide::EndReplacing(
    const std::function<bool(const std::string& key)>& copied, std::vector<std::string>* removed) {
  return asides_ ? asides_->End(copied, removed) : std::vector<OddKey>();
}

Status FolderSide::Delete(const std::string& key) {
  if (asides_ && asides_->Took(key)) return Status::Ok();
  std::string at = key;
  int flags = 0;
  while (true) {
    auto folder = Parent(at, For::kDelete);
    if (folder.code() == Code::kNotFound) return Status::Ok();
    if (!folder.ok()) return folder.status();
    const std::string name = at.substr(at.rfind('/') + 1);
    struct stat there {};
    if (flags == 0 && fstatat(folder->get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        written_.count(std::hash<Version>()(folder::InfoOf(at, there).version)) > 0) {
      return Status(
          Code::kExists,
          root_ + "/" + key + " is a file that was just written, under a " + "name in another case",
          "Rename one of them in the source");
    }
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
