// SPDX-License-Identifier: Apache-2.0
#include "sys/work_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/text.h"
#include "sys/file_lock.h"

namespace stoker::sys {
namespace {

constexpr int kTries = 8;
constexpr int64_t kMostText = 16 << 10;

// f_type of file systems that one machine has alone: ext, xfs, btrfs, tmpfs, overlay, zfs, f2fs,
// bcachefs (magic.h of Linux; the last three, of their own sources). All others may be shared.
constexpr std::array<uint32_t, 8> kOwnDisks = {0xEF53,     0x58465342, 0x9123683E, 0x01021994,
                                               0x794C7630, 0x2FC12FC1, 0xF2F52010, 0xCA451A4E};

bool IsOwnDisk(const std::string& path) {
  struct statfs info {};
  return ::statfs(path.c_str(), &info) == 0 &&
         std::find(kOwnDisks.begin(), kOwnDisks.end(), static_cast<uint32_t>(info.f_type)) !=
             kOwnDisks.end();
}

std::string LockOf(const std::string& path) { return path + ".lock"; }
std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string LinkTarget(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  return size > 0 ? std::string(target, static_cast<size_t>(size)) : "";
}

bool Names(const ScopedFd& fd, const std::string& path) {
  struct stat held {
  }, named{};
  return ::fstat(fd.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

std::optional<WorkHolder> HolderOf(const std::string& lock_file) {
  const auto text = ReadFile(lock_file, kMostText);
  return text.ok() ? ParseWorkHolder(*text) : std::nullopt;
}

// The lock of a holder that is gone. kNotFound: nobody has the place, or somebody just gave it
// back.
Result<ScopedFd> TakeOver(const std::string& lock_file, bool old = false) {
  STOKER_ASSIGN(ScopedFd fd, Open(lock_file, O_RDWR));
  const Status locked = TryLock(fd, lock_file);
  if (!locked.ok() && !locked.Is(Code::kBusy)) return locked;
  const auto holder = HolderOf(lock_file);
  if (!Names(fd, lock_file)) return Status(Code::kNotFound, lock_file + " was given back");
  if (locked.ok() && IsGone(holder, BootId(), old || IsOwnDisk(lock_file))) return fd;
  const std::string who = !holder                    ? "somebody"
                          : holder->boot == BootId() ? "another attempt on this machine"
                                                     : "another attempt on " + holder->host;
  return Status(Code::kBusy, lock_file.substr(0, lock_file.size() - 5) + " is held by " + who);
}

// A lock file of our own under another name, locked.
Result<ScopedFd> MakeLock(const std::string& name, const std::string& folder) {
  STOKER_ASSIGN(ScopedFd fd, Open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
  Status made = TryLock(fd, name);
  if (made.ok()) {
    made = WriteAll(fd.get(), EncodeWorkHolder({Hostname(), BootId(), folder}), name);
  }
  // Other hosts see it from now on. On a disk of this machine alone nobody asks what it says once
  // the machine has lost its power.
  if (made.ok() && !IsOwnDisk(name) && ::fsync(fd.get()) != 0)
    made = ErrnoStatus("writing " + name, errno);
  if (made.ok()) return fd;
  (void)::unlink(name.c_str());
  return made;
}

// An answer of a file server may be lost, and the link be there all the same.
bool LinkNew(const std::string& from, const std::string& to, const ScopedFd& fd) {
  if (::link(from.c_str(), to.c_str()) == 0) return true;
  const int error = errno;
  const bool ours = Names(fd, to);
  errno = error;
  return ours;
}

Status PlaceLock(const std::string& fresh, const std::string& lock_file, const ScopedFd& fd) {
  for (int i = 0; i < kTries; ++i) {
    if (LinkNew(fresh, lock_file, fd)) return Status::Ok();
    if (errno != EEXIST) return ErrnoStatus("making " + lock_file, errno);
    const auto old = TakeOver(lock_file);
    if (old.status().Is(Code::kNotFound)) continue;
    if (!old.ok()) return old.status();
    // While `old` is held nobody of this boot comes between, and no other takes what names it.
    if (::rename(fresh.c_str(), lock_file.c_str()) == 0) return Status::Ok();
    return ErrnoStatus("making " + lock_file, errno);
  }
  return Status(Code::kBusy, lock_file + " changes all the time");
}

// `lock` is its lock. The lock goes last: what lies at a place without one is nobody's.
Status Remove(const std::string& path, const ScopedFd& lock) {
  STOKER_TRY(RemoveTree(path));
  if (Names(lock, LockOf(path))) (void)::unlink(LockOf(path).c_str());
  return Status::Ok();
}

}  // namespace

std::string EncodeWorkHolder(const WorkHolder& holder) {
  return holder.host + "\n" + holder.boot + "\n" + holder.folder + "\n";
}

std::optional<WorkHolder> ParseWorkHolder(std::string_view text) {
  const size_t host = text.find('\n');
  const size_t boot = host == std::string_view::npos ? host : text.find('\n', host + 1);
  if (boot == std::string_view::npos || text.back() != '\n' || boot + 1 == text.size()) return {};
  return WorkHolder{std::string(text.substr(0, host)),
                    std::string(text.substr(host + 1, boot - host - 1)),
                    std::string(text.substr(boot + 1, text.size() - boot - 2))};
}

bool IsGone(const std::optional<WorkHolder>& holder, const std::string& boot, bool own_disk) {
  return own_disk || (holder && !boot.empty() && holder->boot == boot);
}

Result<std::unique_ptr<WorkPlace>> WorkPlace::Take(const std::string& path,
                                                   const std::string& folder) {
  STOKER_TRY(MakeDirs(FolderOf(path), 0700));
  const std::string fresh = FolderOf(path) + "/.new-" + Hex64(RandomU64());
  STOKER_ASSIGN(ScopedFd lock, MakeLock(fresh, folder));
  const Status placed = PlaceLock(fresh, LockOf(path), lock);
  (void)::unlink(fresh.c_str());
  STOKER_TRY(placed);
  std::unique_ptr<WorkPlace> place(new WorkPlace(path, folder, std::move(lock)));
  STOKER_TRY(place->Begin());
  return place;
}

Status WorkPlace::Begin() {
  STOKER_TRY(RemoveTree(path_).WithContext("clearing " + path_));
  STOKER_TRY(RemoveTree(folder_ + "/work"));
  if (::symlink(path_.c_str(), (folder_ + "/work").c_str()) == 0) return Status::Ok();
  return ErrnoStatus("making a link in " + folder_, errno);
}

WorkPlace::~WorkPlace() {
  const std::string own = folder_ + "/work";
  if (LinkTarget(own) == path_) (void)::unlink(own.c_str());
  (void)::rename(path_.c_str(), own.c_str());
  (void)Remove(path_, lock_);
}

void WorkPlace::Touch() const { (void)::futimens(lock_.get(), nullptr); }

std::string WorkOf(const std::string& folder) {
  const std::string own = folder + "/work";
  const std::string path = LinkTarget(own);
  const auto holder = path.empty() ? std::nullopt : HolderOf(LockOf(path));
  return holder && holder->folder == folder ? path : own;
}

Status ForgetWork(const std::string& folder) {
  const std::string path = WorkOf(folder);
  if (path == folder + "/work") return Status::Ok();
  const auto lock = TakeOver(LockOf(path));
  if (lock.status().Is(Code::kNotFound)) return Status::Ok();
  STOKER_TRY(lock.status());
  return WorkOf(folder) == path ? Remove(path, *lock) : Status::Ok();
}

bool ClearWorkPlace(const std::string& lock_file, bool old, bool dry_run) {
  const auto holder = HolderOf(lock_file);
  if (holder && DirExists(holder->folder)) return false;  // its machine's end clears it
  const auto lock = TakeOver(lock_file, old);
  if (!lock.ok()) return false;
  return dry_run || Remove(lock_file.substr(0, lock_file.size() - 5), *lock).ok();
}

}  // namespace stoker::sys
