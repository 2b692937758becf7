// SPDX-License-Identifier: Apache-2.0
#include "client/fetch/in_the_way.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/digest.h"
#include "base/text.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr size_t kPiece = 1 << 20;

Result<std::string> Sha256Of(int fd, const std::string& path) {
  Sha256 hash;
  std::vector<char> buffer(kPiece);
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("cannot read '" + Printable(path) + "'", errno);
    if (got == 0) return hash.Hex();
    hash.Update({buffer.data(), static_cast<size_t>(got)});
  }
}

Result<Found> LookAtFile(int folder, const std::string& name, const std::string& path,
                         const struct stat& info, const ManifestFile& wanted) {
  const Found other{Lies::kOther, "it is there and differs"};
  if (wanted.kind != FileKind::kFile || info.st_size != wanted.size) return other;
  const sys::ScopedFd fd(
      openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus("cannot read '" + Printable(path) + "'", errno);
  STOKER_ASSIGN(const std::string sha256, Sha256Of(fd.get(), path));
  return sha256 == wanted.sha256 ? Found{Lies::kSame, ""} : other;
}

Found LookAtLink(int folder, const std::string& name, const ManifestFile& wanted) {
  std::string target(4096, '\0');
  const ssize_t length = readlinkat(folder, name.c_str(), target.data(), target.size());
  target.resize(length < 0 ? 0 : static_cast<size_t>(length));
  if (wanted.kind == FileKind::kLink && target == wanted.target) return {Lies::kSame, ""};
  return {Lies::kOther, "a link is there"};
}

Result<Found> LookAtLast(int folder, const std::string& name, const std::string& path,
                         const ManifestFile& wanted) {
  struct stat info;
  if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return Found{};
    return ErrnoStatus("cannot look at '" + Printable(path) + "'", errno);
  }
  if (S_ISREG(info.st_mode)) return LookAtFile(folder, name, path, info, wanted);
  if (S_ISLNK(info.st_mode)) return LookAtLink(folder, name, wanted);
  if (!S_ISDIR(info.st_mode)) return Found{Lies::kOther, "what is there is no file"};
  if (wanted.kind == FileKind::kDirectory) return Found{Lies::kSame, ""};
  return Found{Lies::kFolder, "a folder is there"};
}

}  // namespace

Result<Found> LookInTheWay(const std::string& folder, const std::string& path,
                           const ManifestFile& wanted) {
  STOKER_ASSIGN(sys::ScopedFd at, sys::Open(folder, O_RDONLY | O_DIRECTORY));
  const std::vector<std::string> parts = Split(path, '/');
  std::string above;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    above += (i == 0 ? "" : "/") + parts[i];
    sys::ScopedFd next(
        openat(at.get(), parts[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid() && errno == ENOENT) return Found{};
    if (!next.valid() && errno != ENOTDIR && errno != ELOOP) {
      return ErrnoStatus("cannot open '" + Printable(above) + "'", errno);
    }
    if (!next.valid()) {
      struct stat info;
      const bool link = fstatat(at.get(), parts[i].c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISLNK(info.st_mode);
      return Found{Lies::kOther, "'" + Printable(above) + "' is a " + (link ? "link" : "file")};
    }
    at = std::move(next);
  }
  return LookAtLast(at.get(), parts.back(), path, wanted);
}

}  // namespace stoker::client
