// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/unsaved.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr mode_t kOwnersAlone = 0700;  // as the machine's folder is

// The folder of `path` below `top`, reached through no link: what lies behind one is somebody's.
sys::ScopedFd OpenParentInside(const std::string& top, const std::string& path) {
  constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  sys::ScopedFd at(::open(top.c_str(), kFolder));
  std::vector<std::string> parts = Split(path, '/');
  parts.pop_back();
  for (const std::string& part : parts) {
    if (!at.valid()) break;
    at.Reset(::openat(at.get(), part.c_str(), kFolder | O_NOFOLLOW));
  }
  return at;
}

Status MakeUnsavedFolder(const UnsavedPlace& place) {
  const Status made = sys::MakeDirs(place.folder, kOwnersAlone);
  if (made.ok() || place.spare.empty()) return made;
  return ::rename(place.spare.c_str(), place.folder.c_str()) == 0 ? Status::Ok() : made;
}

Status MoveUnsavedFile(const UnsavedPlace& place, const std::string& path) {
  const sys::ScopedFd from = OpenParentInside(place.work, path);
  if (!from.valid()) return Status::Ok();
  const std::string to = place.folder + "/" + place.name + "/" + path;
  STOKER_TRY(sys::MakeDirs(to.substr(0, to.rfind('/')), kOwnersAlone));
  const std::string name = path.substr(path.rfind('/') + 1);
  if (::renameat(from.get(), name.c_str(), AT_FDCWD, to.c_str()) == 0 || errno == ENOENT) {
    return Status::Ok();
  }
  return ErrnoStatus("moving '" + Printable(path) + "' to " + to, errno);
}

void CountUnsaved(const std::string& folder, Unsaved* unsaved) {
  const auto entries = sys::ListDir(folder);
  for (const sys::DirEntry& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    const std::string path = folder + "/" + entry.name;
    if (entry.is_dir) {
      CountUnsaved(path, unsaved);
      continue;
    }
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) continue;
    ++unsaved->files;
    unsaved->bytes += entry.is_file ? info.st_size : 0;
  }
}

void SettleUnsaved(const std::string& target, const UnsavedPlace& place, Unsaved* unsaved) {
  (void)::utimensat(AT_FDCWD, target.c_str(), nullptr, 0);  // from now on it grows old
  CountUnsaved(target, unsaved);
  if (unsaved->files > 0) {
    unsaved->in = target;
  } else {
    (void)sys::RemoveTree(target);
    (void)::rmdir(place.folder.c_str());
  }
}

}  // namespace

Unsaved MoveWork(const UnsavedPlace& place) {
  Unsaved unsaved;
  const std::string target = place.folder + "/" + place.name;
  unsaved.status = MakeUnsavedFolder(place);
  if (!unsaved.status.ok()) return unsaved;
  const std::string to = sys::FileExists(target) ? target + "/work" : target;
  if (::rename(place.work.c_str(), to.c_str()) != 0) {
    unsaved.status = ErrnoStatus("moving " + place.work + " to " + to, errno);
  }
  SettleUnsaved(target, place, &unsaved);
  return unsaved;
}

Unsaved MoveUnsaved(const UnsavedPlace& place, const std::vector<std::string>& paths) {
  Unsaved unsaved;
  const std::string target = place.folder + "/" + place.name;
  unsaved.status = MakeUnsavedFolder(place);
  if (!unsaved.status.ok()) return unsaved;
  for (const std::string& path : paths) {
    const Status moved = MoveUnsavedFile(place, path);
    if (unsaved.status.ok()) unsaved.status = moved;
    if (moved.Is(Code::kNoSpace)) break;
  }
  if (unsaved.status.Is(Code::kNoSpace)) {
    const Unsaved all = MoveWork(place);
    if (all.status.ok()) return all;
  }
  SettleUnsaved(target, place, &unsaved);
  return unsaved;
}

}  // namespace stoker::node
