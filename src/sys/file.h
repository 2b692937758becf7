// SPDX-License-Identifier: Apache-2.0
// Small wrappers around the file calls of POSIX: one place for EINTR, short writes, fsync and
// temporary names. Every call is thread-safe and says on failure which path it was about.
#pragma once

// src/ is an include root, so this file stands in front of glibc's <sys/file.h> (flock): give that
// too to whoever asked for it.
#include_next <sys/file.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace stoker::sys {

// Owns a file descriptor; closes it when destroyed.
class ScopedFd {
 public:
  ScopedFd() = default;
  explicit ScopedFd(int fd) : fd_(fd) {}
  ~ScopedFd() { Reset(); }
  ScopedFd(ScopedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ScopedFd& operator=(ScopedFd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ScopedFd(const ScopedFd&) = delete;
  ScopedFd& operator=(const ScopedFd&) = delete;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

// open(2) with O_CLOEXEC added and EINTR retried.
Result<ScopedFd> Open(const std::string& path, int flags, mode_t mode = 0666);

// Everything in a regular file, /proc file or pipe. kInvalid when it is longer than `max_bytes` or
// a directory; kNotFound when it is not there.
Result<std::string> ReadFile(const std::string& path, int64_t max_bytes = 64 << 20);
// From the descriptor's position to its end.
Result<std::string> ReadAll(int fd, const std::string& what, int64_t max_bytes = 64 << 20);
// All of `data`, whatever write(2) takes at a time.
Status WriteAll(int fd, std::string_view data, const std::string& what);

// Readers see the old file or the whole new one, never a part, also after kill -9. `mode` is exact
// (the umask does not count). With `durable` it also survives a power cut: the file and its
// directory are fsynced. The temporary file lies beside it, named ".tmp-<random>".
Status WriteFileAtomic(const std::string& path, std::string_view data, mode_t mode = 0644,
                       bool durable = true);
// fsync of a directory, so that names made or renamed in it survive a power cut.
Status SyncDir(const std::string& path);

// mkdir -p; directories that exist are left as they are. kExists when a part of it is a file.
Status MakeDirs(const std::string& path, mode_t mode = 0755);
// rm -rf without following any link and without entering another mount (kBusy, naming it).
// Unreadable directories are made readable. Ok when there is nothing. Any depth.
Status RemoveTree(const std::string& path);

struct DirEntry {
  std::string name;  // raw bytes; never "." or ".."
  bool is_dir = false;
  bool is_link = false;
  bool is_file = false;
};
// Sorted bytewise by name.
Result<std::vector<DirEntry>> ListDir(const std::string& path);

// Anything there, a dangling link included.
bool FileExists(const std::string& path);
// A directory, or a link to one.
bool DirExists(const std::string& path);
// Whether the regular file `name` in the folder `dir` (a descriptor, or AT_FDCWD) is what the
// kernel wrote of a process's memory at its death, secrets among it: an ELF core, by its first
// bytes. Asked only of names with "core" in them, as core_pattern has it nearly everywhere
// (core(5)). False for what cannot be read.
bool IsCoreDump(int dir, const std::string& name);
Result<std::string> RealPath(const std::string& path);

// A fresh directory of mode 0700, removed with all it holds when destroyed.
class TempDir {
 public:
  // Under `parent`, or under $TMPDIR (else /tmp) when empty; named "<prefix>-<random>".
  static Result<TempDir> Make(const std::string& prefix = "stoker", const std::string& parent = "");
  ~TempDir();
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TempDir& operator=(TempDir&& other) noexcept;
  const std::string& path() const { return path_; }
  // The caller removes it from now on.
  std::string Release() { return std::exchange(path_, ""); }

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// $HOME when absolute, else the home in /etc/passwd, else "/". Asks no name service.
std::string HomeDir();
std::string Hostname();
// Changes at every boot of the machine; "" where the kernel does not say.
std::string BootId();
// From the kernel's generator; never the same twice in practice, also after fork.
uint64_t RandomU64();

}  // namespace stoker::sys
