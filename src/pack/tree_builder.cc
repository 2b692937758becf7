// SPDX-License-Identifier: Apache-2.0
#include "pack/tree_builder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/text.h"
#include "pack/credentials.h"
#include "pack/exclusions.h"
#include "sys/file_times.h"

namespace stoker::pack {
namespace {

constexpr int64_t kMaxIgnoreFile = 4 << 20;
constexpr int64_t kMaxKeyFile = 64 << 10;
constexpr size_t kNamesInNote = 5;
// Deeper trees are refused, because extraction holds one descriptor for each level.
constexpr int kDeepestFolder = 200;

constexpr const char kSecrets[] = "made to hold secrets";
constexpr const char kCores[] = "core dumps, a program's memory with its secrets";
constexpr const char kVenvs[] = "virtual environments";
constexpr const char kSpecial[] = "sockets, pipes and devices";
constexpr const char kByOption[] = "stoker's own files";

std::string Parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string_view LastName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

Result<Fingerprint> LookAt(int root, const std::string& path) {
  struct stat info;
  const int flags = AT_SYMLINK_NOFOLLOW | (path.empty() ? AT_EMPTY_PATH : 0);
  if (fstatat(root, path.c_str(), &info, flags) != 0) {
    return ErrnoStatus("cannot look at " + QuotedPath(path), errno);
  }
  Fingerprint seen;
  seen.device = info.st_dev;
  seen.inode = info.st_ino;
  seen.mode = info.st_mode;
  seen.links = info.st_nlink;
  seen.size = info.st_size;
  seen.mtime_ns = sys::NanosOf(info.st_mtim);
  seen.ctime_ns = sys::NanosOf(info.st_ctim);
  return seen;
}

TreeBuilder::TreeBuilder(Listing& listing, int root_fd)
    : listing_(listing), root_(root_fd), include_(Join(listing.options.include, "\n")) {}

bool TreeBuilder::Ignores(const std::string& path, bool is_dir) {
  if (!ignore_.IgnoresEntry(path, is_dir)) return false;
  if (include_.Decide(path, is_dir) != Verdict::kNone) return false;
  NoteIgnored(path + (is_dir ? "/" : ""), false);
  return true;
}

void TreeBuilder::NoteIgnored(const std::string& path, bool by_git) {
  if (listing_.ignored.size() < Listing::kMostIgnored) listing_.ignored.push_back({path, by_git});
}

Verdict TreeBuilder::BringsBack(std::string_view path, bool is_dir) const {
  if (include_.Decide(path, is_dir) != Verdict::kNone) return Verdict::kKeep;
  return ignore_.Decide(path, is_dir);
}

bool TreeBuilder::BringsBackAbove(std::string_view path) const {
  if (include_.empty()) return false;
  for (size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    if (include_.Decide(path.substr(0, at), true) != Verdict::kNone) return true;
  }
  return false;
}

Result<bool> TreeBuilder::EnterDir(const std::string& path, bool wanted) {
  auto found = folders_.find(path);
  if (found == folders_.end()) {
    STOKER_ASSIGN(bool enter, CheckDir(path));
    found = folders_.find(path);  // CheckDir made it
    found->second.enter = enter;
    if (enter) {
      const std::string file = (path.empty() ? "" : path + "/") + ".stokerignore";
      STOKER_ASSIGN(std::string text, ReadIgnoreFile(file));
      ignore_.Add(path, text);
      // Not even the empty folder.
      if (text == kFetchedFolder) found->second.enter = false;
    }
  }
  const bool enter = found->second.enter;
  if (enter && wanted) AddFolders(path);
  return enter;
}

Result<bool> TreeBuilder::CheckDir(const std::string& path) {
  if (!path.empty()) {
    STOKER_ASSIGN(bool above, EnterDir(Parent(path), false));
    if (!above) return folders_[path].enter;
  }
  Folder& folder = folders_[path];
  Result<Fingerprint> seen = LookAt(root_, path);
  if (!seen.ok()) {
    if (seen.status().Is(Code::kNotFound)) return false;  // deleted since
    return seen.status();
  }
  folder.seen = *seen;
  if (!S_ISDIR(seen->mode)) return false;  // a link stands in for it
  if (path.empty()) return true;
  if (std::count(path.begin(), path.end(), '/') >= kDeepestFolder) {
    return Status(Code::kInvalid, QuotedPath(path) + " is more than 200 folders deep",
                  "Leave it out with .stokerignore");
  }
  const Exclusion exclusion = ExcludedName(LastName(path));
  if (exclusion == Exclusion::kSecret) left_out_[kSecrets].push_back(path + "/");
  if (exclusion != Exclusion::kNone || Ignores(path, true)) return false;
  if (IsExcludedByOption(path)) {
    left_out_[kByOption].push_back(path + "/");
    return false;
  }
  for (const char* mark : kVenvMarks) {
    if (faccessat(root_, (path + "/" + mark).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
      left_out_[kVenvs].push_back(path + "/");
      return false;
    }
  }
  return true;
}

bool TreeBuilder::IsExcludedByOption(const std::string& path) const {
  const auto& exclude = listing_.options.exclude;
  if (exclude.empty()) return false;
  const std::string full = (listing_.root == "/" ? "" : listing_.root) + "/" + path;
  return std::find(exclude.begin(), exclude.end(), full) != exclude.end();
}

Result<bool> TreeBuilder::AddLeaf(const std::string& path) {
  STOKER_ASSIGN(bool enter, EnterDir(Parent(path), false));
  if (!enter) return false;
  const Exclusion exclusion = ExcludedName(LastName(path));
  if (exclusion == Exclusion::kSecret) left_out_[kSecrets].push_back(path);
  if (exclusion != Exclusion::kNone || Ignores(path, false)) return false;
  if (IsExcludedByOption(path)) return false;
  Result<Fingerprint> seen = LookAt(root_, path);
  if (!seen.ok()) {
    if (seen.status().Is(Code::kNotFound)) return false;  // tracked, but deleted
    return seen.status();
  }
  if (S_ISDIR(seen->mode)) return false;  // tracked as a file, a folder by now
  if (!S_ISREG(seen->mode) && !S_ISLNK(seen->mode)) {
    left_out_[kSpecial].push_back(path);
    return false;
  }
  if (S_ISREG(seen->mode) && MayHoldPrivateKey(LastName(path))) {
    STOKER_ASSIGN(bool key, HoldsKey(path));
    if (key) {
      left_out_[kSecrets].push_back(path);
      return false;
    }
  }
  if (S_ISREG(seen->mode) && sys::IsCoreDump(root_, path)) {
    left_out_[kCores].push_back(path);
    return false;
  }
  AddFolders(Parent(path));
  AddEntry(path, S_ISLNK(seen->mode) ? EntryKind::kLink : EntryKind::kFile, *seen);
  if (static_cast<int64_t>(listing_.entries.size()) > listing_.options.max_entries) {
    return Status(Code::kInvalid,
                  QuotedPath(listing_.root) + " holds more than " +
                      std::to_string(listing_.options.max_entries) + " files",
                  "Leave data folders out with .stokerignore");
  }
  return true;
}

bool TreeBuilder::AdmitsName(std::string_view path) const {
  if (ExcludedPath(path) != Exclusion::kNone || MayHoldPrivateKey(path)) return false;
  for (size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    if (ignore_.IgnoresEntry(path.substr(0, at), true)) return false;
  }
  return !ignore_.IgnoresEntry(path, false);
}

Result<std::string> TreeBuilder::ReadIgnoreFile(const std::string& path) const {
  int fd = openat(root_, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT || errno == ELOOP) return std::string();
    return ErrnoStatus("cannot read " + QuotedPath(path), errno);
  }
  sys::ScopedFd file(fd);
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return std::string();
  return sys::ReadAll(fd, path, kMaxIgnoreFile);
}

Result<bool> TreeBuilder::HoldsKey(const std::string& path) const {
  int fd = openat(root_, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  // A key that its owner alone may read: nothing to pack, and nothing to complain about.
  if (fd < 0) return errno == EACCES;
  sys::ScopedFd file(fd);
  std::string text(kMaxKeyFile, '\0');
  const ssize_t got = read(fd, text.data(), text.size());
  if (got < 0) return ErrnoStatus("cannot read " + QuotedPath(path), errno);
  text.resize(static_cast<size_t>(got));
  return HoldsPrivateKey(text);
}

void TreeBuilder::AddEntry(const std::string& path, EntryKind kind, const Fingerprint& seen) {
  listing_.entries.push_back({path, kind, seen});
}

void TreeBuilder::AddFolders(const std::string& path) {
  if (path.empty()) return;
  Folder& folder = folders_[path];
  if (folder.added) return;
  folder.added = true;
  AddFolders(Parent(path));
  AddEntry(path, EntryKind::kDir, folder.seen);
}

void TreeBuilder::NoteIncludes() {
  for (const std::string& pattern : listing_.options.include) {
    const IgnoreFile one(pattern);
    const bool any = std::any_of(
        listing_.entries.begin(), listing_.entries.end(), [&](const ListedEntry& entry) {
          return one.Decide(entry.path, entry.kind == EntryKind::kDir) != Verdict::kNone;
        });
    if (!any) Note("--include " + Printable(pattern) + " matches nothing that can be packed");
  }
}

Status TreeBuilder::Finish() {
  std::sort(listing_.entries.begin(), listing_.entries.end(),
            [](const ListedEntry& a, const ListedEntry& b) { return a.path < b.path; });
  std::set<std::pair<uint64_t, uint64_t>> linked;
  for (const ListedEntry& entry : listing_.entries) {
    listing_.files += entry.kind == EntryKind::kFile ? 1 : 0;
    listing_.links += entry.kind == EntryKind::kLink ? 1 : 0;
    listing_.dirs += entry.kind == EntryKind::kDir ? 1 : 0;
    if (entry.kind != EntryKind::kFile) continue;
    const bool first =
        entry.seen.links < 2 || linked.insert({entry.seen.device, entry.seen.inode}).second;
    if (first) listing_.bytes += entry.seen.size;
  }
  std::sort(listing_.included.begin(), listing_.included.end());
  listing_.never = left_out_[kSecrets];
  listing_.environments = left_out_[kVenvs];
  NoteIncludes();
  for (auto& [why, paths] : left_out_) {
    if (paths.empty()) continue;
    std::sort(paths.begin(), paths.end());
    std::vector<std::string> shown;
    for (size_t i = 0; i < std::min(paths.size(), kNamesInNote); ++i) {
      shown.push_back(Printable(paths[i]));
    }
    if (paths.size() > kNamesInNote) {
      shown.push_back("and " + std::to_string(paths.size() - kNamesInNote) + " more");
    }
    Note("left out (" + why + "): " + Join(shown, ", "));
  }
  STOKER_ASSIGN(listing_.root_seen, LookAt(root_, ""));
  return Status::Ok();
}

}  // namespace stoker::pack
