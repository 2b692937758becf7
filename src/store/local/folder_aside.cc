// SPDX-License-Identifier: Apache-2.0
#include "store/local/folder_aside.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/digest.h"
#include "base/text.h"

namespace stoker::folder {
namespace {

constexpr std::string_view kAside = ".stoker-aside";
constexpr size_t kAsideMark = 16;  // hex digits
constexpr size_t kLongestName = 255;
constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Nobody's file has it by chance.
std::string AsideMarkOf(const std::string& name) {
  return Sha256Hex("stoker-aside\n" + name).substr(0, kAsideMark);
}

using MayEnter = std::function<Status(int folder, const std::string& key)>;

// `name` in `folder`, which is known as `key`, and all below it; no link is followed.
Status RemoveEntry(int folder, const std::string& name, const std::string& key,
                   const MayEnter& may_empty) {
  const int fd = openat(folder, name.c_str(), kOpenFolder);
  if (fd < 0 && errno == ENOENT) return Status::Ok();
  if (fd < 0 && errno != ENOTDIR && errno != ELOOP) return ErrnoStatus("opening it", errno);
  if (fd >= 0) {
    DIR* const entries = fdopendir(fd);
    if (entries == nullptr) {
      close(fd);
      return ErrnoStatus("reading it", ENOMEM);
    }
    Status status = may_empty(fd, key);
    while (status.ok()) {
      errno = 0;
      const dirent* const entry = readdir(entries);
      if (entry == nullptr) {
        if (errno != 0) status = ErrnoStatus("reading it", errno);
        break;
      }
      const std::string below = entry->d_name;
      if (below == "." || below == "..") continue;
      status = RemoveEntry(fd, below, key + "/" + below, may_empty);
    }
    closedir(entries);
    STOKER_TRY(status);
  }
  if (unlinkat(folder, name.c_str(), fd >= 0 ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT) {
    return Status::Ok();
  }
  return ErrnoStatus("removing it", errno);
}

}  // namespace

std::string AsideName(const std::string& name) {
  std::string aside = name + "." + AsideMarkOf(name) + std::string(kAside);
  return aside.size() > kLongestName ? "" : aside;
}

std::string NameOfAside(const std::string& aside) {
  const size_t tail = 1 + kAsideMark + kAside.size();
  if (aside.size() <= tail || !EndsWith(aside, kAside)) return "";
  std::string name = aside.substr(0, aside.size() - tail);
  return AsideName(name) == aside ? name : "";
}

void Asides::Adopt(sys::ScopedFd folder, const std::string& name, const std::string& key) {
  if (!may_(key)) return;  // whoever may replace it finds it again
  const std::lock_guard lock(mutex_);
  asides_[key] = {std::move(folder), name, false};
}

Status Asides::MakeWay(int folder, const std::string& name, const std::string& key, bool wanted) {
  const std::lock_guard lock(mutex_);
  struct stat there {};
  if (fstatat(folder, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Status::Ok() : ErrnoStatus("looking at " + Printable(key), errno);
  }
  const bool is_folder = S_ISDIR(there.st_mode);
  if (is_folder == wanted) return Status::Ok();  // another thread has made way
  const Status stays(Code::kExists,
                     Printable(key) + (is_folder ? " is a folder" : " is not a folder"),
                     "Move it out of the way");
  const std::string aside = AsideName(name);
  if (aside.empty() || asides_.count(key) > 0 || !may_(key)) return stays;
  sys::ScopedFd parent(openat(folder, ".", kOpenFolder));
  if (!parent.valid()) return ErrnoStatus("opening the folder of " + Printable(key), errno);
  if (fstatat(folder, aside.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) return stays;
  if (renameat(folder, name.c_str(), folder, aside.c_str()) != 0) {
    return ErrnoStatus("renaming " + Printable(key) + ", which is in the way", errno);
  }
  asides_[key] = {std::move(parent), name, true};
  return Status::Ok();
}

bool Asides::Took(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (asides_.empty()) return false;
  for (size_t slash = key.find('/'); slash != std::string::npos; slash = key.find('/', slash + 1)) {
    if (asides_.count(key.substr(0, slash)) > 0) return true;
  }
  return asides_.count(key) > 0;
}

std::vector<OddKey> Asides::End(const May& copied, std::vector<std::string>* removed) {
  std::vector<OddKey> failed;
  for (const auto& [key, aside] : asides_) {
    const int folder = aside.folder.get();
    const std::string beside = AsideName(aside.name);
    Status status;
    if (copied(key)) {
      status =
          RemoveEntry(folder, beside, key, [&, ours = aside.ours](int fd, const std::string& at) {
            return may_empty_(fd, at, ours);
          });
      if (status.ok()) removed->push_back(key);
    } else if (aside.ours) {
      // What was copied so far is this run's own.
      status = RemoveEntry(folder, aside.name, key, [&](int fd, const std::string& at) {
        return may_empty_(fd, at, false);
      });
      if (status.ok() && renameat(folder, beside.c_str(), folder, aside.name.c_str()) != 0) {
        status = ErrnoStatus("giving it its name back", errno);
      }
    }
    if (!status.ok()) {
      failed.push_back({key, status.WithContext("it was set aside as " + Printable(beside))});
    }
  }
  return failed;
}

}  // namespace stoker::folder
