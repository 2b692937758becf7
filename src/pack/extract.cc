// SPDX-License-Identifier: Apache-2.0
#include "pack/extract.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/digest.h"
#include "base/text.h"
#include "pack/safe_tree.h"
#include "pack/tar_stream.h"
#include "sys/file.h"

namespace stoker::pack {
namespace {

struct Place {
  std::string parent;
  std::string name;
  std::string prefix() const { return "." + name.substr(0, 200) + ".extract-"; }
};

Result<Place> PlaceOf(const std::string& dest) {
  std::string path = dest;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const size_t slash = path.rfind('/');
  Place place;
  place.parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  place.name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (!IsSafeRelativePath(place.name)) {
    return Status(Code::kInvalid, "cannot unpack to " + QuotedPath(dest));
  }
  return place;
}

// The building place of an extraction, locked as long as it is in use: a lock ends with its
// process, so one that can be taken marks what a killed process left behind.
class BuildDir {
 public:
  static Result<BuildDir> Make(const Place& place) {
    STOKER_TRY(Sweep(place));
    for (int i = 0; i < 8; ++i) {
      BuildDir dir;
      char random[20];
      std::snprintf(random, sizeof(random), "%016llx",
                    static_cast<unsigned long long>(sys::RandomU64()));
      const std::string path = place.parent + "/" + place.prefix() + random;
      if (mkdir(path.c_str(), 0700) != 0) {
        return ErrnoStatus("cannot make directory " + QuotedPath(path), errno);
      }
      dir.path_ = path;
      Result<sys::ScopedFd> fd = sys::Open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      // A sweep may have taken it between the two calls: then another.
      if (!fd.ok() || flock(fd->get(), LOCK_EX | LOCK_NB) != 0) continue;
      struct stat info;
      if (fstat(fd->get(), &info) != 0 || info.st_nlink == 0 || !sys::DirExists(path)) continue;
      dir.fd_ = std::move(fd).value();
      dir.LearnMode();
      return dir;
    }
    return Status(Code::kBusy, "no free name beside " + QuotedPath(place.name));
  }

  BuildDir(BuildDir&& other) noexcept
      : path_(std::exchange(other.path_, "")),
        fd_(std::move(other.fd_)),
        usual_mode_(other.usual_mode_) {}
  ~BuildDir() {
    if (!path_.empty()) (void)sys::RemoveTree(path_);
  }
  int fd() const { return fd_.get(); }

  // Gives it away under its name. Who may look in is for the umask to say, as for any directory
  // that a program makes.
  Status MoveTo(const std::string& dest) {
    if (fchmod(fd_.get(), usual_mode_) != 0) {
      return ErrnoStatus("cannot set the mode of " + QuotedPath(dest), errno);
    }
    if (rename(path_.c_str(), dest.c_str()) != 0) {
      const int error = errno == ENOTDIR ? EEXIST : errno;
      return ErrnoStatus("cannot unpack to " + QuotedPath(dest), error);
    }
    path_.clear();
    return Status::Ok();
  }

 private:
  BuildDir() = default;

  // umask(2) cannot be asked without changing it, for all threads; the kernel tells it here.
  void LearnMode() {
    const std::string status = sys::ReadFile("/proc/self/status").value_or("");
    const size_t at = status.find("\nUmask:");
    if (at == std::string::npos) return;
    const mode_t mask = static_cast<mode_t>(std::strtoul(status.c_str() + at + 7, nullptr, 8));
    usual_mode_ = (0777 & ~mask) | 0700;
  }

  static Status Sweep(const Place& place) {
    STOKER_ASSIGN(std::vector<sys::DirEntry> found, sys::ListDir(place.parent));
    for (const sys::DirEntry& entry : found) {
      if (!entry.is_dir || !StartsWith(entry.name, place.prefix())) continue;
      const std::string path = place.parent + "/" + entry.name;
      Result<sys::ScopedFd> fd = sys::Open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      if (!fd.ok() || flock(fd->get(), LOCK_EX | LOCK_NB) != 0) continue;
      (void)sys::RemoveTree(path);  // what cannot be removed harms nobody
    }
    return Status::Ok();
  }

  std::string path_;
  sys::ScopedFd fd_;
  mode_t usual_mode_ = 0700;
};

class Extraction {
 public:
  Extraction(const ByteSource& source, int root, const ExtractOptions& options)
      : options_(options),
        tree_(root),
        zstd_([this, source](char* buffer, int64_t size) { return Hashed(source, buffer, size); },
              ZstdLimits{MostUnpacked(options.limits), options.limits.max_ratio,
                         options.limits.ratio_floor}),
        tar_([this](char* buffer, int64_t size) { return zstd_.Read(buffer, size); }) {}

  Status Run() {
    TarEntry entry;
    while (true) {
      STOKER_ASSIGN(bool more, tar_.Next(entry));
      if (!more) break;
      Status status = Add(entry);
      if (!status.ok()) return status;
    }
    if (!options_.sha256.empty() && hash_.Hex() != options_.sha256) {
      return Status(Code::kCorrupt, "archive is damaged: its SHA-256 is not " + options_.sha256);
    }
    return tree_.Finish();
  }

 private:
  // Contents and, for each entry, headers with long names.
  static int64_t MostUnpacked(const ExtractLimits& limits) {
    int64_t headers = 0;
    int64_t sum = 0;
    if (__builtin_mul_overflow(limits.max_files, int64_t{16 << 10}, &headers) ||
        __builtin_add_overflow(headers + (1 << 20), limits.max_bytes, &sum)) {
      return INT64_MAX;
    }
    return sum;
  }

  Result<int64_t> Hashed(const ByteSource& source, char* buffer, int64_t size) {
    Result<int64_t> got = source(buffer, size);
    if (got.ok() && !options_.sha256.empty()) {
      hash_.Update({buffer, static_cast<size_t>(*got)});
    }
    return got;
  }

  Status Add(TarEntry& entry) {
    if (++entries_ > options_.limits.max_files) {
      return Status(Code::kInvalid, "archive holds more than " +
                                        std::to_string(options_.limits.max_files) + " files");
    }
    // "./name" and "name/" are how other tools write names; "./" is the top itself.
    while (StartsWith(entry.path, "./")) entry.path.erase(0, 2);
    if (EndsWith(entry.path, "/")) entry.path.pop_back();
    if ((entry.path.empty() || entry.path == ".") && entry.kind == TarKind::kDir) {
      return Status::Ok();
    }
    Status status = AddNamed(entry);
    return status.WithContext("archive entry " + QuotedPath(entry.path));
  }

  Status AddNamed(const TarEntry& entry) {
    STOKER_TRY(CheckEntryName(entry.path));
    if ((entry.mode & 07000) != 0) {
      return Status(Code::kInvalid, "has a set-user-id, set-group-id or sticky bit");
    }
    switch (entry.kind) {
      case TarKind::kDir:
        return tree_.AddDir(entry.path, entry.mode);
      case TarKind::kLink:
        return tree_.AddLink(entry.path, entry.target, entry.mtime_ns);
      case TarKind::kHardLink:
        return tree_.AddHardLink(entry.path, entry.target);
      case TarKind::kFile:
        return AddFile(entry);
      case TarKind::kOther:
        break;
    }
    return Status(Code::kInvalid, "is a device or pipe");
  }

  Status AddFile(const TarEntry& entry) {
    if (entry.size < 0 || entry.size > options_.limits.max_bytes - bytes_) {
      return Status(Code::kInvalid,
                    "archive holds more than " + HumanSize(options_.limits.max_bytes));
    }
    bytes_ += entry.size;
    STOKER_ASSIGN(sys::ScopedFd fd, tree_.CreateFile(entry.path));
    int64_t written = 0;
    while (true) {
      STOKER_ASSIGN(std::string_view piece, tar_.Read());
      if (piece.empty()) break;
      written += static_cast<int64_t>(piece.size());
      if (written > entry.size) break;
      STOKER_TRY(sys::WriteAll(fd.get(), piece, entry.path));
    }
    if (written != entry.size) return Status(Code::kCorrupt, "is not as long as announced");
    return SafeTree::FinishFile(std::move(fd), entry.mode, entry.mtime_ns);
  }

  const ExtractOptions& options_;
  SafeTree tree_;
  Sha256 hash_;
  ZstdReader zstd_;
  TarReader tar_;
  int64_t entries_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace

Status Extract(const ByteSource& source, const std::string& dest, const ExtractOptions& options) {
  STOKER_ASSIGN(Place place, PlaceOf(dest));
  struct stat info;
  const std::string full = place.parent + "/" + place.name;
  if (lstat(full.c_str(), &info) == 0) {
    if (!S_ISDIR(info.st_mode)) return Status(Code::kExists, QuotedPath(dest) + " exists");
    STOKER_ASSIGN(std::vector<sys::DirEntry> there, sys::ListDir(full));
    if (!there.empty()) return Status(Code::kExists, QuotedPath(dest) + " is not empty");
  }
  STOKER_ASSIGN(BuildDir build, BuildDir::Make(place));
  STOKER_TRY(Extraction(source, build.fd(), options).Run());
  return build.MoveTo(full);
}

Status ExtractText(std::string_view archive, const std::string& dest,
                   const ExtractOptions& options) {
  const ByteSource source = [&](char* buffer, int64_t size) -> Result<int64_t> {
    const size_t got = archive.copy(buffer, static_cast<size_t>(size));
    archive.remove_prefix(got);
    return static_cast<int64_t>(got);
  };
  return Extract(source, dest, options);
}

Status ExtractFile(const std::string& archive, const std::string& dest,
                   const ExtractOptions& options) {
  STOKER_ASSIGN(sys::ScopedFd fd, sys::Open(archive, O_RDONLY));
  const ByteSource source = [&](char* buffer, int64_t size) -> Result<int64_t> {
    while (true) {
      const ssize_t got = read(fd.get(), buffer, static_cast<size_t>(size));
      if (got >= 0) return static_cast<int64_t>(got);
      if (errno != EINTR) return ErrnoStatus("cannot read " + QuotedPath(archive), errno);
    }
  };
  return Extract(source, dest, options);
}

}  // namespace stoker::pack
