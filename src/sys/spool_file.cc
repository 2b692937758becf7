// SPDX-License-Identifier: Apache-2.0
#include "sys/spool_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace stoker {
namespace {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

int OpenRetrying(const std::string& path, int flags) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

class FileAppender : public SpoolAppender {
 public:
  FileAppender(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus("append to " + path_, errno);
      if (n == 0) return ErrnoStatus("append to " + path_, ENOSPC);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return Status::Ok();
  }

 private:
  std::string path_;
  Fd fd_;
};

class DiskSpool : public SpoolFolder {
 public:
  explicit DiskSpool(std::string path) : path_(std::move(path)) {}

  Result<std::vector<SpoolEntry>> List() override {
    DIR* dir = ::opendir(path_.c_str());
    if (dir == nullptr) return ErrnoStatus("list " + path_, errno);
    std::vector<SpoolEntry> entries;
    errno = 0;
    while (const dirent* entry = ::readdir(dir)) {
      struct stat info {};
      if (::fstatat(::dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISREG(info.st_mode)) {
        entries.push_back({entry->d_name, info.st_size});
      }
      errno = 0;
    }
    int error = errno;
    ::closedir(dir);
    if (error != 0) return ErrnoStatus("list " + path_, error);
    std::sort(entries.begin(), entries.end(),
              [](const SpoolEntry& a, const SpoolEntry& b) { return a.name < b.name; });
    return entries;
  }

  Result<std::unique_ptr<SpoolAppender>> OpenAppend(const std::string& name) override {
    int fd = OpenRetrying(Path(name), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW);
    if (fd < 0) return ErrnoStatus("open " + Path(name), errno);
    return std::unique_ptr<SpoolAppender>(std::make_unique<FileAppender>(Path(name), fd));
  }

  Result<std::string> Read(const std::string& name, int64_t offset, int64_t size) override {
    Fd fd(OpenRetrying(Path(name), O_RDONLY | O_NOFOLLOW));
    if (fd.get() < 0) return ErrnoStatus("open " + Path(name), errno);
    std::string data(static_cast<size_t>(size), '\0');
    size_t got = 0;
    while (got < data.size()) {
      ssize_t n = ::pread(fd.get(), data.data() + got, data.size() - got,
                          static_cast<off_t>(offset + static_cast<int64_t>(got)));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus("read " + Path(name), errno);
      if (n == 0) break;
      got += static_cast<size_t>(n);
    }
    data.resize(got);
    return data;
  }

  Status Truncate(const std::string& name, int64_t size) override {
    if (::truncate(Path(name).c_str(), static_cast<off_t>(size)) == 0) return Status::Ok();
    return ErrnoStatus("truncate " + Path(name), errno);
  }

  Status Remove(const std::string& name) override {
    if (::unlink(Path(name).c_str()) == 0 || errno == ENOENT) return Status::Ok();
    return ErrnoStatus("remove " + Path(name), errno);
  }

 private:
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<SpoolFolder>> OpenSpoolFolder(const std::string& path) {
  for (size_t slash = path.find('/', 1); !path.empty(); slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      int error = errno;
      struct stat info {};
      if (::stat(part.c_str(), &info) != 0) return ErrnoStatus("make folder " + part, error);
    }
    if (slash == std::string::npos) break;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus("open folder " + path, errno);
  if (!S_ISDIR(info.st_mode)) return ErrnoStatus("open folder " + path, ENOTDIR);
  return std::unique_ptr<SpoolFolder>(std::make_unique<DiskSpool>(path));
}

}  // namespace stoker
