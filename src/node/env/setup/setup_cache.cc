// SPDX-License-Identifier: Apache-2.0
#include "node/env/setup/setup_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/json_fields.h"
#include "base/text.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "/.stoker-setup";
constexpr int64_t kMostOfPth = 1 << 20;
constexpr int kSetupFormat = 1;

struct HandedOn {
  std::string name;
  std::string value;
};

// What lies beside the files.
struct KeptSetup {
  int format = kSetupFormat;
  std::string key;
  std::string workdir;
  int64_t files = 0;
  int64_t bytes = 0;
  std::vector<std::string> removed;
  std::vector<HandedOn> variables;
};

// T or const T.
template <typename T, typename Noun>
concept IsKept = std::is_same_v<std::remove_const_t<T>, Noun>;

template <class A, IsKept<HandedOn> T>
void Fields(A& a, T& t) {
  a.Need("name", t.name);
  a("value", t.value);
}

template <class A, IsKept<KeptSetup> T>
void Fields(A& a, T& t) {
  a.Need("format", t.format);
  a.Need("key", t.key);
  a.Need("workdir", t.workdir);
  a("files", t.files);
  a("bytes", t.bytes);
  a("removed", t.removed);
  a("variables", t.variables);
  for (const std::string& path : t.removed) {
    a.Check(IsSafeRelativePath(path), "removed", "is no path");
  }
}

Result<KeptSetup> ReadKept(const std::string& path) {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(path));
  STOKER_ASSIGN(const json::Value object, json::ParseObject(path, text, size_t{64} << 20));
  STOKER_TRY(json::CheckFormat(path, object, kSetupFormat));
  KeptSetup kept;
  json::JsonIn in(object, path + ": ");
  Fields(in, kept);
  if (!in.status().ok()) return in.status();
  return kept;
}

Status Failed(const std::string& what, const std::error_code& error) {
  return ErrnoStatus(what, error.value());
}

std::optional<SeenEntry> LookAtEntry(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return std::nullopt;
  return SeenEntry{info.st_ino, info.st_mode, S_ISDIR(info.st_mode) ? 0 : info.st_size,
                   S_ISDIR(info.st_mode)
                       ? 0
                       : int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

// The work directory is installed for editing: another one would import from this.
bool PointsInto(const std::string& env, const std::string& workdir) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(env + "/lib", error), end; !error && at != end;
       at.increment(error)) {
    if (at.depth() >= 3) at.disable_recursion_pending();  // of packages their metadata
    const std::string name = at->path().filename().string();
    const bool tells = EndsWith(name, ".pth") || EndsWith(name, ".egg-link") ||
                       StartsWith(name, "__editable__") || name == "direct_url.json";
    if (!tells || at->is_directory(error)) continue;
    const auto text = sys::ReadFile(at->path().string(), kMostOfPth);
    if (text.ok() && text->find(workdir) != std::string::npos) return true;
  }
  return false;
}

Status CopyEntry(const std::string& from, const std::string& to) {
  const auto seen = LookAtEntry(from);
  if (!seen) return Status(Code::kBusy, from + " went away while it was copied");
  std::error_code error;
  if (S_ISDIR(seen->mode)) {
    if (!fs::is_directory(fs::symlink_status(to, error))) STOKER_TRY(sys::RemoveTree(to));
    return sys::MakeDirs(to, seen->mode & 0777);
  }
  STOKER_TRY(sys::RemoveTree(to));
  if (const size_t slash = to.rfind('/'); slash != std::string::npos) {
    STOKER_TRY(sys::MakeDirs(to.substr(0, slash), 0755));
  }
  error.clear();
  if (S_ISLNK(seen->mode)) {
    fs::copy_symlink(from, to, error);
  } else {
    fs::copy_file(from, to, error);
  }
  if (error) return Failed(from + " could not be copied to " + to, error);
  const timespec time{seen->mtime_ns / 1'000'000'000, seen->mtime_ns % 1'000'000'000};
  const timespec times[2] = {time, time};
  (void)::utimensat(AT_FDCWD, to.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return Status::Ok();
}

bool CanBeKept(const SeenEntry& entry) {
  return S_ISREG(entry.mode) || S_ISLNK(entry.mode) || S_ISDIR(entry.mode);
}

// Files and links of a folder, and how large they are.
Result<SetupResult> Count(const std::string& folder) {
  STOKER_ASSIGN(const SeenFolder there, SeeFolder(folder));
  SetupResult counted;
  for (const auto& [path, entry] : there) {
    if (S_ISDIR(entry.mode)) continue;
    ++counted.files;
    counted.bytes += entry.size;
  }
  return counted;
}

// Where `from` is named in a value as a path, `to` is.
std::string Moved(std::string value, const std::string& from, const std::string& to) {
  for (size_t at = value.find(from); at != std::string::npos; at = value.find(from, at)) {
    const size_t end = at + from.size();
    const bool whole = end == value.size() || (!IsAlnum(value[end]) && value[end] != '-' &&
                                               value[end] != '_' && value[end] != '.');
    if (whole) value.replace(at, from.size(), to);
    at += whole ? to.size() : 1;
  }
  return value;
}

// "files" hold what came or changed; kInvalid: too much.
Status CopyChanged(const std::string& workdir, const SeenFolder& before, const std::string& files,
                   SetupResult* kept) {
  STOKER_ASSIGN(const SeenFolder after, SeeFolder(workdir));
  for (const auto& [path, entry] : after) {
    const auto old = before.find(path);
    if ((old != before.end() && old->second == entry) || !CanBeKept(entry)) continue;
    if (!S_ISDIR(entry.mode)) {
      ++kept->files;
      kept->bytes += entry.size;
    }
    if (kept->bytes > kMostSetupBytes || kept->files > static_cast<int64_t>(kMostSetupFiles)) {
      return Status(Code::kInvalid, "it made more than " + HumanSize(kMostSetupBytes) + " or " +
                                        std::to_string(kMostSetupFiles) +
                                        " files in the work directory");
    }
    STOKER_TRY(CopyEntry(workdir + "/" + path, files + "/" + path));
  }
  for (const auto& [path, entry] : before) {
    if (!after.contains(path)) kept->removed.push_back(path);
  }
  return Status::Ok();
}

}  // namespace

Result<SeenFolder> SeeFolder(const std::string& folder) {
  SeenFolder seen;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    if (const auto entry = LookAtEntry(path)) seen[path.substr(folder.size() + 1)] = *entry;
  }
  if (error) return Failed("looking through " + folder, error);
  return seen;
}

Result<SetupResult> KeepSetup(const std::string& env, const std::string& key,
                              const std::string& workdir, const SeenFolder& before,
                              const contract::Environment& variables) {
  // What setup writes by $PWD is without links of the path.
  const std::string real = sys::RealPath(workdir).value_or(workdir);
  if (PointsInto(env, workdir) || PointsInto(env, real)) {
    return Status(Code::kInvalid,
                  "it installs the work directory for editing (pip install -e .), and another job "
                  "has another one");
  }
  const std::string folder = env + kFolder, fresh = folder + ".new";
  STOKER_TRY(sys::RemoveTree(fresh));
  STOKER_TRY(sys::RemoveTree(folder));
  STOKER_TRY(sys::MakeDirs(fresh + "/files", 0700));
  SetupResult kept;
  kept.variables = variables;
  const Status copied = CopyChanged(workdir, before, fresh + "/files", &kept);
  if (!copied.ok()) {
    (void)sys::RemoveTree(fresh);
    return copied;
  }
  KeptSetup left{kSetupFormat, key, real, kept.files, kept.bytes, kept.removed, {}};
  for (const auto& [name, value] : variables) {
    left.variables.push_back({name, Moved(value, workdir, real)});
  }
  json::JsonOut out;
  Fields(out, left);
  STOKER_TRY(sys::WriteFileAtomic(fresh + "/left.json", json::Dump(out.Take()) + "\n", 0600, true));
  if (::rename(fresh.c_str(), folder.c_str()) != 0) {
    return ErrnoStatus("renaming " + fresh, errno);
  }
  STOKER_TRY(sys::SyncDir(env));
  return kept;
}

Result<std::optional<SetupResult>> UseSetup(const std::string& env, const std::string& key,
                                            const std::string& workdir) {
  const std::string folder = env + kFolder;
  // A damaged one counts as none.
  const auto left = ReadKept(folder + "/left.json");
  const auto there = Count(folder + "/files");
  if (!left.ok() || !there.ok() || left->key != key || left->files != there->files ||
      left->bytes != there->bytes) {
    return std::optional<SetupResult>();
  }
  const std::string real = sys::RealPath(workdir).value_or(workdir);
  SetupResult result = *there;
  for (const HandedOn& one : left->variables) {
    result.variables.emplace_back(one.name, Moved(one.value, left->workdir, real));
  }
  result.removed = left->removed;
  STOKER_ASSIGN(const SeenFolder files, SeeFolder(folder + "/files"));
  for (const std::string& path : result.removed) {
    STOKER_TRY(sys::RemoveTree(workdir + "/" + path));
  }
  for (const auto& [path, entry] : files) {
    STOKER_TRY(CopyEntry(folder + "/files/" + path, workdir + "/" + path));
  }
  return std::optional<SetupResult>(std::move(result));
}

}  // namespace stoker::node
