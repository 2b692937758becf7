// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/read_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <iterator>

#include "sys/file_times.h"
#include "sys/watch/directory_scan.h"

namespace stoker {
namespace {

// linux/magic.h and the file systems' own headers. On any other, a program on another machine may
// read, and nobody here hears of it.
constexpr uint32_t kOfThisMachine[] = {
    0xEF53,      // ext2, ext3, ext4
    0x58465342,  // XFS
    0x9123683E,  // Btrfs
    0xF2F52010,  // F2FS
    0x2FC12FC1,  // ZFS
    0x01021994,  // tmpfs
    0x794C7630,  // overlay
};

bool IsOfThisMachine(const std::string& path) {
  struct statfs info;
  if (statfs(path.c_str(), &info) != 0) return false;
  return std::find(std::begin(kOfThisMachine), std::end(kOfThisMachine),
                   static_cast<uint32_t>(info.f_type)) != std::end(kOfThisMachine);
}

int64_t ReadAt(const struct stat& info) { return sys::NanosOf(info.st_atim); }

}  // namespace

// An open that ends without a write was a read; one that does not end may be a mapping.
const uint32_t ReadWatch::kMask = IN_OPEN | IN_ACCESS | IN_CLOSE_NOWRITE;

ReadWatch::ReadWatch(const std::string& root,
                     const std::function<bool(const std::string& path)>& counts)
    : root_(root), known_(IsOfThisMachine(root)) {
  const auto tree = known_ ? ListTree(root) : Result<Tree>(Tree());
  known_ = known_ && tree.ok();
  if (!known_) return;
  for (const FileFact& fact : tree->files) {
    struct stat info;
    if (fact.kind != FileKind::kFile || !counts(fact.path)) continue;
    if (lstat((root_ + "/" + fact.path).c_str(), &info) != 0) continue;
    files_[fact.path] = {info.st_ino, info.st_nlink, ReadAt(info), 0};
  }
}

void ReadWatch::OnEvent(uint32_t mask, const std::string& path) {
  const std::lock_guard lock(mutex_);
  // Under another name it would be read unheard.
  if ((mask & IN_ISDIR) != 0) {
    if ((mask & IN_MOVED_FROM) != 0) WasRead();
    return;
  }
  const auto it = files_.find(path);
  if (it == files_.end()) return;
  if ((mask & (IN_ACCESS | IN_CLOSE_NOWRITE | IN_MOVED_FROM)) != 0) {
    WasRead();
  } else if ((mask & IN_OPEN) != 0) {
    ++it->second.opens;
  } else if ((mask & (IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE)) != 0) {
    // Through a mapping it may have been read all the same.
    if (LooksRead(path, it->second)) return WasRead();
    files_.erase(it);
  }
}

void ReadWatch::WasRead() {
  read_ = true;
  files_.clear();
}

bool ReadWatch::LooksRead(const std::string& path, const File& file) const {
  struct stat info;
  if (lstat((root_ + "/" + path).c_str(), &info) != 0 || info.st_ino != file.ino) return false;
  return info.st_nlink > file.names || ReadAt(info) != file.read_ns;
}

void ReadWatch::Lost() {
  const std::lock_guard lock(mutex_);
  known_ = false;
}

bool ReadWatch::listens() const {
  const std::lock_guard lock(mutex_);
  return known_ && !read_ && !forgotten_;
}

void ReadWatch::Forget() {
  const std::lock_guard lock(mutex_);
  forgotten_ = true;
  files_.clear();
}

std::optional<bool> ReadWatch::Judge() {
  const std::lock_guard lock(mutex_);
  if (read_) return true;
  if (!known_ || forgotten_) return std::nullopt;
  return std::any_of(files_.begin(), files_.end(), [this](const auto& entry) {
    return entry.second.opens > 0 || LooksRead(entry.first, entry.second);
  });
}

}  // namespace stoker
