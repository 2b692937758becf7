// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/set_aside.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwners = 0700;
// Left by a restore that was killed.
constexpr char kHalfRestored[] = ".stoker-new-";
// A system's own, and what is below most of them, too.
constexpr const char* kSystem[] = {"/bin",  "/boot", "/etc", "/lib",     "/lib32",   "/lib64",
                                   "/proc", "/sbin", "/sys", "/usr/bin", "/usr/lib", "/usr/sbin"};
constexpr const char* kShared[] = {"/",    "/dev", "/home", "/media", "/mnt", "/opt",    "/root",
                                   "/run", "/srv", "/tmp",  "/usr",   "/var", "/var/tmp"};

bool IsWithin(const std::string& inner, const std::string& outer) {
  return inner == outer || outer == "/" || StartsWith(inner, outer + "/");
}

bool HasSome(const std::set<std::string>& ours, const std::string& folder) {
  const auto first = ours.lower_bound(folder + "/");
  return first != ours.end() && StartsWith(*first, folder + "/");
}

class Mover {
 public:
  Mover(const std::string& folder, const std::set<std::string>& ours,
        const std::vector<std::string>& places, const std::string& name)
      : folder_(folder), ours_(ours), places_(places), name_(name), made_(places.size()) {}

  Status Visit(const std::string& below) {
    STOKER_ASSIGN(const auto entries,
                  sys::ListDir(below.empty() ? folder_ : folder_ + "/" + below));
    for (const sys::DirEntry& entry : entries) {
      const std::string path = below.empty() ? entry.name : below + "/" + entry.name;
      if (StartsWith(entry.name, kHalfRestored)) continue;
      if (entry.is_dir && !entry.is_link && HasSome(ours_, path)) {
        STOKER_TRY(Visit(path));
      } else if (ours_.count(path) == 0) {
        STOKER_TRY(Move(path));
      }
    }
    return Status::Ok();
  }

  SetAside result;

 private:
  // The new folder in a place, made when it is first needed.
  Result<std::string> Made(size_t place) {
    if (!made_[place].empty()) return made_[place];
    STOKER_TRY(sys::MakeDirs(places_[place], kOwners));
    std::string to = places_[place] + "/" + name_;
    for (int again = 2; sys::FileExists(to); ++again) {
      to = places_[place] + "/" + name_ + "-" + std::to_string(again);
    }
    STOKER_TRY(sys::MakeDirs(to, kOwners));
    return made_[place] = to;
  }

  Result<std::string> Target(size_t place, const std::string& path) {
    STOKER_ASSIGN(const std::string top, Made(place));
    const std::string to = top + "/" + path;
    STOKER_TRY(sys::MakeDirs(to.substr(0, to.rfind('/')), kOwners));
    return to;
  }

  Status Move(const std::string& path) {
    const std::string from = folder_ + "/" + path;
    for (size_t place = 0; place < places_.size(); ++place) {
      const auto to = Target(place, path);
      if (!to.ok()) continue;
      if (std::rename(from.c_str(), to->c_str()) == 0) return Count(place);
      if (errno == ENOENT) return Status::Ok();
    }
    return Copy(from, path).WithContext("moving '" + Printable(path) + "' out of " + folder_);
  }

  Status Copy(const std::string& from, const std::string& path) {
    STOKER_ASSIGN(const std::string to, Target(0, path));
    std::error_code error;
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    if (error) return ErrnoStatus("copying it to " + to, error.value());
    STOKER_TRY(sys::RemoveTree(from));
    return Count(0);
  }

  Status Count(size_t place) {
    ++result.entries;
    if (std::find(result.to.begin(), result.to.end(), made_[place]) == result.to.end()) {
      result.to.push_back(made_[place]);
    }
    return Status::Ok();
  }

  const std::string& folder_;
  const std::set<std::string>& ours_;
  const std::vector<std::string>& places_;
  const std::string& name_;
  std::vector<std::string> made_;
};

}  // namespace

Result<SetAside> MoveOthersAside(const std::string& folder, const std::set<std::string>& ours,
                                 const std::vector<std::string>& places, const std::string& name) {
  Mover mover(folder, ours, places, name);
  STOKER_TRY(mover.Visit(""));
  return mover.result;
}

std::string WhyNotForCheckpoints(const std::string& folder, const std::string& home,
                                 const std::string& state) {
  for (const char* system : kSystem) {
    if (IsWithin(folder, system)) return "is the system's";
  }
  for (const char* shared : kShared) {
    if (folder == shared) return "is everybody's";
  }
  if (!home.empty() && IsWithin(home, folder)) return "is or holds a home folder";
  if (!state.empty() && (IsWithin(state, folder) || IsWithin(folder, state))) {
    return "is stoker's own";
  }
  return "";
}

}  // namespace stoker::node
