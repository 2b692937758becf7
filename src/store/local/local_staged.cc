// SPDX-License-Identifier: Apache-2.0
// A file in .tmp, from its first byte to the moment before it is published. What fails names the
// store: the name in .tmp is another with each try.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "store/local/local_folder.h"

namespace stoker::local {
namespace {

// Where the next byte is that is in no hole; `size` when there is none. Holes stay what they are:
// whoever copies makes the file as long as it is to be. What lies behind the file's end is no hole:
// a file may be shorter than was said.
int64_t SkipHole(int source, int64_t at, int64_t size) {
  const off_t data = lseek(source, at, SEEK_DATA);
  if (data >= 0) return std::min<int64_t>(data, size);
  struct stat now {};
  const bool hole = errno == ENXIO && fstat(source, &now) == 0 && now.st_size >= size;
  return hole ? size : at;
}

// Copies [at, size) in the kernel. Returns how far it came; the rest is for read and write.
int64_t CopyInKernel(int source, int target, int64_t at, int64_t size) {
  while (at < size) {
    at = SkipHole(source, at, size);
    if (at == size) return ftruncate(target, size) == 0 ? size : 0;
    const off_t hole = lseek(source, at, SEEK_HOLE);
    const int64_t end = hole > at ? std::min<int64_t>(hole, size) : size;
    loff_t from = at;
    loff_t to = at;
    const auto want = static_cast<size_t>(std::min<int64_t>(end - at, int64_t{1} << 30));
    const ssize_t got = copy_file_range(source, &from, target, &to, want, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    at += got;
  }
  return at;
}

}  // namespace

Result<Staged> Staged::Make(const Folder& folder) {
  // Again when somebody removed .tmp between the two calls.
  for (int tries = 0;; ++tries) {
    STOKER_ASSIGN(std::string name, folder.TempName());
    const int fd = openat(folder.fd(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                          folder.file_mode());
    if (fd >= 0) return Staged(folder, std::move(name), sys::ScopedFd(fd));
    if (errno != EINTR && (errno != ENOENT || tries > 10)) {
      return folder.Failure("writing", "", errno);
    }
  }
}

Staged Staged::Adopt(const Folder& folder, std::string name, sys::ScopedFd fd, int64_t size) {
  Staged staged(folder, std::move(name), std::move(fd));
  staged.size_ = size;
  return staged;
}

Staged::Staged(Staged&& other) noexcept
    : folder_(other.folder_),
      name_(std::exchange(other.name_, "")),
      fd_(std::move(other.fd_)),
      size_(other.size_),
      info_(other.info_) {}

Staged& Staged::operator=(Staged&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(name_, other.name_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(info_, other.info_);
  return *this;
}

Staged::~Staged() {
  if (!name_.empty()) unlinkat(folder_->fd(), name_.c_str(), 0);
}

Status Staged::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(fd_.get(), bytes.data(), bytes.size(), size_);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return folder_->Failure("writing", "", errno);
    size_ += wrote;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return Status::Ok();
}

Status Staged::CopyFrom(int source, int64_t size) {
  struct stat info = {};
  const bool whole = size_ == 0 && fstat(source, &info) == 0 && info.st_size == size;
  if (whole && size > 0 && ioctl(fd_.get(), FICLONE, source) == 0) {
    size_ = size;
    return Status::Ok();
  }
  int64_t done = size_ == 0 ? CopyInKernel(source, fd_.get(), 0, size) : 0;
  size_ += done;
  constexpr int64_t kBuffer = 1 << 20;
  std::unique_ptr<char[]> buffer;
  while (done < size) {
    if (!buffer) buffer.reset(new char[kBuffer]);
    const auto want = static_cast<size_t>(std::min(size - done, kBuffer));
    const ssize_t got = pread(source, buffer.get(), want, done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("reading the file to store in " + folder_->root(), errno);
    if (got == 0) {
      return Status(Code::kInvalid, "the file to store ended after " + std::to_string(done) +
                                        " of " + std::to_string(size) + " bytes");
    }
    STOKER_TRY(Write(std::string_view(buffer.get(), static_cast<size_t>(got))));
    done += got;
  }
  return Status::Ok();
}

Status Staged::Seal() {
  if (fstat(fd_.get(), &info_) != 0) return folder_->Failure("writing", "", errno);
  // The kernel's stamp moves in steps of milliseconds and inodes are used again at once: two writes
  // of one name could look the same. Below the millisecond the stamp is ours.
  const long millis = info_.st_mtim.tv_nsec / 1'000'000;
  struct timespec times[2] = {{0, UTIME_OMIT}, info_.st_mtim};
  times[1].tv_nsec = millis * 1'000'000 + static_cast<long>(sys::RandomU64() % 1'000'000);
  if (futimens(fd_.get(), times) != 0 || fstat(fd_.get(), &info_) != 0) {
    return folder_->Failure("writing", "", errno);
  }
  return folder_->Sync(fd_.get(), "");
}

Result<Staged> Staged::Clone() const {
  STOKER_ASSIGN(Staged clone, Make(*folder_));
  STOKER_TRY(clone.CopyFrom(fd_.get(), size_));
  STOKER_TRY(clone.Seal());
  return clone;
}

}  // namespace stoker::local
