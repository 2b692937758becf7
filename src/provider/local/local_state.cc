// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <mutex>

#include "base/prng.h"
#include "base/text.h"
#include "sys/work_place.h"

namespace stoker {
namespace {

constexpr char kGonePrefix[] = ".gone-";
constexpr int64_t kLaunchSeconds = 60;
constexpr int64_t kMarkSeconds = 24 * 3600;

struct flock WholeFile(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::mutex& LockMutex() {
  static std::mutex mutex;
  return mutex;
}

int64_t AgeSeconds(const std::string& path) {
  struct stat info {};
  timespec now{};
  if (lstat(path.c_str(), &info) != 0) return -1;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec - info.st_mtime;
}

}  // namespace

LocalState LocalState::Of(const std::string& dir) {
  const size_t slash = dir.rfind('/', dir.rfind('/') - 1);
  return LocalState(dir.substr(0, slash));
}

std::string LocalState::TokenOf(const std::string& dir) { return dir.substr(dir.rfind('/') + 1); }

std::optional<std::string> LocalState::Ended(const std::string& token) const {
  auto why = sys::ReadFile(Mark(token), 4096);
  if (why.ok()) return *why;
  // When in doubt it is over: starting a machine twice is worse than not starting it.
  if (why.code() != Code::kNotFound) return why.status().message();
  return std::nullopt;
}

Status LocalState::MarkEnded(const std::string& token, const std::string& why) const {
  STOKER_TRY(sys::MakeDirs(root_ + "/ended", 0700));
  if (Ended(token)) return Status::Ok();
  // A file that it has no more use for: no other needs to be made, nor that one removed.
  const std::string said = Dir(token) + "/why";
  if (const auto file = sys::Open(said, O_WRONLY | O_TRUNC | O_NOFOLLOW);
      file.ok() && sys::WriteAll(file->get(), why, said).ok() &&
      rename(said.c_str(), Mark(token).c_str()) == 0) {
    return Status::Ok();
  }
  const Status marked = sys::WriteFileAtomic(Mark(token), why, 0600, false);
  if (!marked.Is(Code::kNoSpace)) return marked;
  // A full disk often still takes the name of an empty file: that it is over counts, not why.
  return sys::Open(Mark(token), O_WRONLY | O_CREAT, 0600).ok() ? Status::Ok() : marked;
}

void LocalState::ForgetOldMarks() const {
  const auto entries = sys::ListDir(root_ + "/ended");
  if (!entries.ok()) return;
  for (const sys::DirEntry& entry : *entries) {
    const std::string path = root_ + "/ended/" + entry.name;
    if (AgeSeconds(path) > kMarkSeconds && !sys::DirExists(Dir(entry.name))) unlink(path.c_str());
  }
}

Status LocalState::RemoveDir(const std::string& token) const {
  // While something of it lives there, `stoker gc` is left with it.
  (void)sys::ForgetWork(Dir(token));
  char suffix[32];
  std::snprintf(suffix, sizeof suffix, "%016llx",
                static_cast<unsigned long long>(sys::RandomU64()));
  const std::string gone = Instances() + "/" + kGonePrefix + suffix;
  if (rename(Dir(token).c_str(), gone.c_str()) != 0) {
    if (errno == ENOENT) return Status::Ok();
    return ErrnoStatus("removing " + Dir(token), errno);
  }
  return sys::RemoveTree(gone);
}

Result<std::string> LocalState::HostId() const {
  const std::string path = root_ + "/host";
  for (int tries = 0; tries < 3; ++tries) {
    auto known = sys::ReadFile(path, 64);
    if (known.ok() && IsSafeName(*known)) return known;
    if (!known.ok() && !known.status().Is(Code::kNotFound)) return known.status();
    // Whole before it has its name, and never in place of another's.
    Prng prng(sys::RandomU64());
    const std::string id = "h" + prng.Base32(15);
    const std::string staged = path + "." + id;
    STOKER_TRY(sys::WriteFileAtomic(staged, id, 0600));
    if (known.ok()) (void)::rename(staged.c_str(), path.c_str());  // it held no id
    const int linked = ::link(staged.c_str(), path.c_str());
    const int error = errno;
    (void)::unlink(staged.c_str());
    if (linked != 0 && error != EEXIST && error != ENOENT) return ErrnoStatus(path, error);
  }
  return Status(Code::kCorrupt, path + " holds no id", "Remove it");
}

void LocalState::RemoveLeftovers(Duration age) const {
  const auto entries = sys::ListDir(Instances());
  if (!entries.ok()) return;
  for (const sys::DirEntry& entry : *entries) {
    const std::string path = Instances() + "/" + entry.name;
    if (!StartsWith(entry.name, ".")) continue;
    // What is no longer named is nobody's; what is not yet named may be a launch under way.
    const int64_t least = StartsWith(entry.name, kGonePrefix) ? age.ms : kLaunchSeconds * 1000;
    if (AgeSeconds(path) * 1000 >= std::max(age.ms, least)) {
      (void)sys::RemoveTree(path);  // somebody else may be at it; the next sweep looks again
    }
  }
}

std::vector<std::string> LocalState::Tokens() const {
  std::vector<std::string> out;
  const auto entries = sys::ListDir(Instances());
  if (!entries.ok()) return out;
  for (const sys::DirEntry& entry : *entries) {
    if (entry.is_dir && !StartsWith(entry.name, ".")) out.push_back(entry.name);
  }
  return out;
}

bool IsInstanceToken(const std::string& token) {
  return !token.empty() && token.size() <= 128 &&
         token.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
             std::string::npos;
}

Result<pid_t> LockHolder(const std::string& dir) {
  std::lock_guard<std::mutex> guard(LockMutex());
  const std::string path = dir + "/lock";
  auto fd = sys::Open(path, O_RDWR);
  if (fd.code() == Code::kNotFound) return pid_t{0};
  if (!fd.ok()) return fd.status();
  struct flock lock = WholeFile(F_WRLCK);
  if (fcntl(fd->get(), F_GETLK, &lock) != 0) return ErrnoStatus("asking who holds " + path, errno);
  if (lock.l_type == F_UNLCK) return pid_t{0};
  if (lock.l_pid <= 0) {
    return Status(Code::kDenied, path + ": is held from another pid namespace",
                  "use the machine or container that the job was started in");
  }
  return lock.l_pid;
}

Status WithLock(const std::string& dir, const std::function<Status()>& work) {
  std::lock_guard<std::mutex> guard(LockMutex());
  STOKER_ASSIGN(const sys::ScopedFd lock, TakeLock(dir));
  return work();
}

Result<sys::ScopedFd> TakeLock(const std::string& dir) {
  const std::string path = dir + "/lock";
  STOKER_ASSIGN(sys::ScopedFd fd, sys::Open(path, O_RDWR | O_CREAT, 0600));
  struct flock lock = WholeFile(F_WRLCK);
  while (fcntl(fd.get(), F_SETLK, &lock) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EACCES) {
      return Status(Code::kBusy, path + ": is held by another process");
    }
    return ErrnoStatus("locking " + path, errno);
  }
  return fd;
}

}  // namespace stoker
