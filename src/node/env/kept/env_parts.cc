// SPDX-License-Identifier: Apache-2.0
#include "node/env/kept/env_parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <memory>

#include "base/digest.h"
#include "base/text.h"
#include "pack/tar_stream.h"
#include "pack/zstd_stream.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPiece = 1 << 20;
constexpr int64_t kMostLooked = 64 << 10;  // of files that are looked through for secrets

bool IsBelow(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && StartsWith(path, folder) && path[folder.size()] == '/';
}

// What a setup has made (node/env/setup_cache.h): all of it belongs to the environment.
constexpr std::string_view kOfSetup = ".stoker-setup";

bool IsOfSetup(std::string_view path) { return path == kOfSetup || IsBelow(path, kOfSetup); }

// Made again by Python, or of this machine alone.
bool StaysBehind(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (IsOfSetup(path)) return false;
  // The last: what a kill left of writing a note (sys::WriteFileAtomic).
  return name == "__pycache__" || EndsWith(name, ".pyc") || StartsWith(path, ".stoker-") ||
         StartsWith(path, ".tmp-");
}

bool MayHoldSecret(const std::string& path, int64_t size) {
  if (IsOfSetup(path)) return true;
  return size <= kMostLooked && (StartsWith(path, "bin/") || EndsWith(path, "direct_url.json") ||
                                 EndsWith(path, ".pth") || EndsWith(path, ".cfg"));
}

Result<std::string> ReadLink(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  if (size < 0) return ErrnoStatus("reading the link " + path, errno);
  return std::string(target, static_cast<size_t>(size));
}

// Hashes and counts what goes out.
struct Out {
  int fd;
  Sha256 sum;
  int64_t bytes = 0;
  Status Take(std::string_view piece) {
    sum.Update(piece);
    bytes += static_cast<int64_t>(piece.size());
    return sys::WriteAll(fd, piece, "a part of the environment");
  }
};

class Archive {
 public:
  Archive(const PartWriter& by, std::string path, int out, int64_t expected)
      : by_(by),
        path_(std::move(path)),
        out_{out, {}},
        zstd_([this](std::string_view piece) { return out_.Take(piece); }, expected),
        tar_([this](std::string_view piece) { return zstd_.Write(piece); }) {}

  Status Add(const std::string& path, const EnvEntry& entry) {
    if (by_.stop()) return Status(Code::kCancelled, "it was stopped");
    pack::TarEntry out;
    out.path = path_.empty() ? path : path.substr(path_.size() + 1);
    const std::string whole = by_.folder + "/" + path;
    if (S_ISDIR(entry.mode)) {
      out.kind = pack::TarKind::kDir;
      out.mode = 0755;
      return tar_.Add(out);
    }
    if (S_ISLNK(entry.mode)) {
      out.kind = pack::TarKind::kLink;
      STOKER_ASSIGN(out.target, ReadLink(whole));
      if (!StartsWith(out.target, "/")) return tar_.Add(out);
      // The interpreter's, which each machine has for itself.
      if (StartsWith(path, "bin/python")) return Status::Ok();
      return Status(Code::kInvalid, path + " is a link to " + Printable(out.target));
    }
    if (!S_ISREG(entry.mode)) return Status(Code::kInvalid, path + " is neither file nor link");
    out.mode = (entry.mode & 0111) != 0 ? 0755 : 0644;
    out.size = entry.size;
    STOKER_TRY(tar_.Add(out));
    return Content(path, whole, entry);
  }

  Result<WrittenPart> Finish() {
    STOKER_TRY(tar_.Finish());
    STOKER_TRY(zstd_.Finish());
    return WrittenPart{{path_, out_.sum.Hex(), out_.bytes}, names_folder_};
  }

 private:
  Status Content(const std::string& path, const std::string& whole, const EnvEntry& entry) {
    const sys::ScopedFd file(::open(whole.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid()) return ErrnoStatus("opening " + whole, errno);
    int64_t left = entry.size;
    std::string seen;  // the end of the piece before, in which a name may begin
    while (left > 0) {
      if (by_.stop()) return Status(Code::kCancelled, "it was stopped");
      const ssize_t got = ::read(file.get(), buffer_.get(), kPiece);
      if (got < 0) return ErrnoStatus("reading " + whole, errno);
      if (got == 0 || got > left) return Status(Code::kBusy, path + " changed");
      const std::string_view piece(buffer_.get(), static_cast<size_t>(got));
      STOKER_TRY(Look(path, entry, seen, piece));
      STOKER_TRY(tar_.Write(piece));
      left -= got;
    }
    return Status::Ok();
  }

  Status Look(const std::string& path, const EnvEntry& entry, std::string& seen,
              std::string_view piece) {
    if (by_.holds_secret && MayHoldSecret(path, entry.size) &&
        by_.holds_secret(std::string(piece))) {
      return Status(Code::kInvalid, path + " holds a secret");
    }
    if (names_folder_) return Status::Ok();
    const size_t overlap = by_.folder.size() - 1;
    seen.append(piece.substr(0, overlap));
    names_folder_ = seen.find(by_.folder) != std::string::npos ||
                    piece.find(by_.folder) != std::string_view::npos;
    seen.assign(piece.substr(piece.size() - std::min(piece.size(), overlap)));
    return Status::Ok();
  }

  const PartWriter& by_;
  const std::string path_;
  const std::unique_ptr<char[]> buffer_{new char[kPiece]};
  Out out_;
  pack::ZstdWriter zstd_;
  pack::TarWriter tar_;
  bool names_folder_ = false;
};

}  // namespace

Result<EnvTree> SeeEnv(const std::string& folder) {
  EnvTree tree;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string(), name = path.substr(folder.size() + 1);
    if (StaysBehind(name)) {
      at.disable_recursion_pending();
      continue;
    }
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return ErrnoStatus("looking at " + path, errno);
    EnvEntry& entry = tree[name];
    entry.mode = info.st_mode;
    if (S_ISDIR(info.st_mode)) continue;  // its time changes with byte code
    entry.inode = info.st_ino;
    entry.size = info.st_size;
    entry.mtime_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  }
  if (error) return ErrnoStatus("looking through " + folder, error.value());
  return tree;
}

std::string StampOf(const EnvTree& tree) {
  Sha256 sum;
  for (const auto& [path, entry] : tree) {
    sum.Update(path + '\0' + std::to_string(entry.inode) + " " + std::to_string(entry.mode) + " " +
               std::to_string(entry.size) + " " + std::to_string(entry.mtime_ns) + "\n");
  }
  return sum.Hex();
}

std::vector<PartPlan> PlanParts(const EnvTree& tree) {
  // Of the package that the entry lies in, or is; "" = of none.
  const auto package_of = [](const std::string& path) {
    constexpr std::string_view kPackages = "/site-packages/";
    const size_t at = path.find(kPackages);
    return at == std::string::npos ? "" : path.substr(0, path.find('/', at + kPackages.size()));
  };
  std::map<std::string, int64_t> sizes;
  std::vector<PartPlan> files;
  for (const auto& [path, entry] : tree) {
    const size_t slash = path.rfind('/');
    if (!S_ISREG(entry.mode) || slash == std::string::npos) continue;
    if (entry.size > kLargeFile) files.push_back({path.substr(0, slash), {path}});
    if (const std::string package = package_of(path); package != path && entry.size <= kLargeFile) {
      sizes[package] += entry.size;
    }
  }
  PartPlan rest;
  std::map<std::string, PartPlan> packages;
  for (const auto& [path, entry] : tree) {
    const bool apart = S_ISREG(entry.mode) && entry.size > kLargeFile;
    if (apart && path.find('/') != std::string::npos) continue;
    const std::string package = package_of(path);
    const auto size = sizes.find(package);
    if (package.empty() || size == sizes.end() || size->second <= kLargePackage) {
      rest.entries.push_back(path);
    } else if (path != package) {
      packages[package].path = package;
      packages[package].entries.push_back(path);
    }
  }
  std::vector<PartPlan> plans = {std::move(rest)};
  for (auto& [path, plan] : packages) plans.push_back(std::move(plan));
  for (PartPlan& file : files) plans.push_back(std::move(file));
  return plans;
}

Result<WrittenPart> WritePart(const PartWriter& by, const PartPlan& plan, int out) {
  int64_t expected = 0;
  for (const std::string& entry : plan.entries) expected += by.tree.at(entry).size;
  Archive archive(by, plan.path, out, expected);
  for (const std::string& entry : plan.entries) {
    STOKER_TRY(archive.Add(entry, by.tree.at(entry)).WithContext(by.folder));
  }
  return archive.Finish();
}

}  // namespace stoker::node
