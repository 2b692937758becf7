// SPDX-License-Identifier: Apache-2.0
#include "sys/file.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace stoker::sys {
namespace {

std::string Parent(const std::string& path) {
  size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  size_t slash = path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  size_t last = path.find_last_not_of('/', slash);
  return last == std::string::npos ? "/" : path.substr(0, last + 1);
}

std::string RandomName() {
  char name[32];
  std::snprintf(name, sizeof(name), "%016llx", static_cast<unsigned long long>(RandomU64()));
  return name;
}

}  // namespace

void ScopedFd::Reset(int fd) {
  // Never retried: on Linux the descriptor is free after close(2), also when it says EINTR.
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

Result<ScopedFd> Open(const std::string& path, int flags, mode_t mode) {
  int fd;
  do {
    fd = open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return ErrnoStatus("cannot open " + QuotedPath(path), errno);
  return ScopedFd(fd);
}

Result<std::string> ReadAll(int fd, const std::string& what, int64_t max_bytes) {
  struct stat info;
  if (fstat(fd, &info) != 0) return ErrnoStatus("cannot read " + QuotedPath(what), errno);
  std::string data;
  size_t used = 0;
  // One more than the size, so that the usual file ends with the second read.
  data.resize(S_ISREG(info.st_mode) && info.st_size > 0 && info.st_size < max_bytes
                  ? static_cast<size_t>(info.st_size) + 1
                  : 4096);
  while (true) {
    if (used == data.size()) data.resize(data.size() * 2);
    ssize_t got = read(fd, data.data() + used, data.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("cannot read " + QuotedPath(what), errno);
    if (got == 0) break;
    used += static_cast<size_t>(got);
    if (used > static_cast<size_t>(max_bytes)) {
      return Status(Code::kInvalid, QuotedPath(what) + " is longer than " + HumanSize(max_bytes));
    }
  }
  data.resize(used);
  return data;
}

Result<std::string> ReadFile(const std::string& path, int64_t max_bytes) {
  STOKER_ASSIGN(ScopedFd fd, Open(path, O_RDONLY));
  return ReadAll(fd.get(), path, max_bytes);
}

Status WriteAll(int fd, std::string_view data, const std::string& what) {
  while (!data.empty()) {
    ssize_t wrote = write(fd, data.data(), data.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return ErrnoStatus("cannot write " + QuotedPath(what), errno);
    data.remove_prefix(static_cast<size_t>(wrote));
  }
  return Status::Ok();
}

Status WriteFileAtomic(const std::string& path, std::string_view data, mode_t mode, bool durable) {
  const std::string parent = Parent(path);
  const std::string temp = parent + "/.tmp-" + RandomName();
  Result<ScopedFd> opened = Open(temp, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!opened.ok()) return opened.status().WithContext("cannot write " + QuotedPath(path));
  ScopedFd fd = std::move(opened).value();
  // In pieces: the kernel keeps what one write brought as one piece of memory, of up to 2 MiB, and
  // maps all of that for one byte. A program that runs from this file would look as large as it.
  constexpr size_t kPiece = 64 << 10;
  Status status;
  for (size_t at = 0; status.ok() && at < data.size(); at += kPiece) {
    status = WriteAll(fd.get(), data.substr(at, kPiece), path);
  }
  if (status.ok() && fchmod(fd.get(), mode) != 0) {
    status = ErrnoStatus("cannot set the mode of " + QuotedPath(path), errno);
  }
  if (status.ok() && durable && fsync(fd.get()) != 0) {
    status = ErrnoStatus("cannot write " + QuotedPath(path) + " to disk", errno);
  }
  // close(2) is where a network file system reports what it could not write.
  int raw = fd.Release();
  if (close(raw) != 0 && status.ok() && errno != EINTR) {
    status = ErrnoStatus("cannot write " + QuotedPath(path), errno);
  }
  if (status.ok() && rename(temp.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus("cannot replace " + QuotedPath(path), errno);
  }
  if (!status.ok()) {
    unlink(temp.c_str());
    return status;
  }
  return durable ? SyncDir(parent) : Status::Ok();
}

Status SyncDir(const std::string& path) {
  STOKER_ASSIGN(ScopedFd fd, Open(path, O_RDONLY | O_DIRECTORY));
  // Some network file systems have no fsync of directories: EINVAL says so, and nothing is lost.
  if (fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) {
    return ErrnoStatus("cannot write directory " + QuotedPath(path) + " to disk", errno);
  }
  return Status::Ok();
}

Status MakeDirs(const std::string& path, mode_t mode) {
  if (path.empty()) return Status(Code::kInvalid, "cannot make a directory without a name");
  if (DirExists(path) || mkdir(path.c_str(), mode) == 0) return Status::Ok();
  // Each prefix that ends before a slash, then the whole.
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string prefix = path.substr(0, at);
    if (mkdir(prefix.c_str(), mode) != 0) {
      int error = errno;
      // EROFS, EACCES and others come before EEXIST on some systems.
      if (!DirExists(prefix)) {
        return ErrnoStatus("cannot make directory " + QuotedPath(prefix), error);
      }
    }
    if (at == std::string::npos) return Status::Ok();
  }
}

Result<std::vector<DirEntry>> ListDir(const std::string& path) {
  STOKER_ASSIGN(ScopedFd fd, Open(path, O_RDONLY | O_DIRECTORY));
  DIR* dir = fdopendir(fd.get());
  if (dir == nullptr) return ErrnoStatus("cannot list " + QuotedPath(path), errno);
  fd.Release();
  std::vector<DirEntry> entries;
  errno = 0;
  while (const dirent* got = readdir(dir)) {
    DirEntry entry;
    entry.name = got->d_name;
    unsigned char type = got->d_type;
    if (entry.name == "." || entry.name == "..") continue;
    if (type == DT_UNKNOWN) {
      struct stat info;
      if (fstatat(dirfd(dir), got->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        errno = 0;
        continue;  // removed since
      }
      type = IFTODT(info.st_mode);
    }
    entry.is_dir = type == DT_DIR;
    entry.is_link = type == DT_LNK;
    entry.is_file = type == DT_REG;
    entries.push_back(std::move(entry));
    errno = 0;
  }
  int error = errno;
  closedir(dir);
  if (error != 0) return ErrnoStatus("cannot list " + QuotedPath(path), error);
  std::sort(entries.begin(), entries.end(),
            [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
  return entries;
}

bool FileExists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

bool DirExists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool IsCoreDump(int dir, const std::string& name) {
  if (name.find("core") == std::string::npos) return false;
  const ScopedFd fd(openat(dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  unsigned char head[EI_NIDENT + 2];
  if (!fd.valid() || pread(fd.get(), head, sizeof head, 0) != sizeof head) return false;
  if (std::memcmp(head, ELFMAG, SELFMAG) != 0) return false;
  const int low = head[EI_DATA] == ELFDATA2MSB ? 1 : 0;
  return head[EI_NIDENT + low] == ET_CORE && head[EI_NIDENT + 1 - low] == 0;
}

Result<std::string> RealPath(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return ErrnoStatus("cannot resolve " + QuotedPath(path), errno);
  std::string result = real;
  std::free(real);
  return result;
}

Result<TempDir> TempDir::Make(const std::string& prefix, const std::string& parent) {
  std::string base = parent;
  if (base.empty()) {
    const char* env = std::getenv("TMPDIR");
    base = env != nullptr && env[0] == '/' ? env : "/tmp";
  }
  for (int i = 0; i < 8; ++i) {
    std::string path = base + "/" + prefix + "-" + RandomName();
    if (mkdir(path.c_str(), 0700) == 0) return TempDir(std::move(path));
    if (errno != EEXIST) return ErrnoStatus("cannot make directory " + QuotedPath(path), errno);
  }
  return Status(Code::kExists, "no free name under " + QuotedPath(base));
}

TempDir::~TempDir() {
  if (!path_.empty()) (void)RemoveTree(path_);
}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  if (this != &other) {
    if (!path_.empty()) (void)RemoveTree(path_);
    path_ = std::exchange(other.path_, "");
  }
  return *this;
}

std::string HomeDir() {
  const char* env = std::getenv("HOME");
  if (env != nullptr && env[0] == '/') return env;
  // Not getpwuid: in a static binary it may load name service modules of another glibc.
  Result<std::string> passwd = ReadFile("/etc/passwd", 16 << 20);
  if (passwd.ok()) {
    const std::string uid = std::to_string(getuid());
    for (const std::string& line : Split(*passwd, '\n')) {
      std::vector<std::string> fields = Split(line, ':');
      if (fields.size() >= 6 && fields[2] == uid && StartsWith(fields[5], "/")) return fields[5];
    }
  }
  return "/";
}

std::string Hostname() {
  char name[HOST_NAME_MAX + 1] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return "localhost";
  return name;
}

std::string BootId() {
  Result<std::string> id = ReadFile("/proc/sys/kernel/random/boot_id", 4096);
  if (!id.ok()) return "";
  while (!id->empty() && (id->back() == '\n' || id->back() == ' ')) id->pop_back();
  return *id;
}

uint64_t RandomU64() {
  uint64_t value = 0;
  char* at = reinterpret_cast<char*>(&value);
  size_t left = sizeof(value);
  while (left > 0) {
    ssize_t got = getrandom(at, left, 0);
    if (got < 0 && errno == EINTR) continue;
    // Only a kernel before 3.17 or a broken seccomp filter refuses; no nonce is better than a bad
    // one.
    if (got <= 0) std::abort();
    at += got;
    left -= static_cast<size_t>(got);
  }
  return value;
}

}  // namespace stoker::sys
