// SPDX-License-Identifier: Apache-2.0
// Listing a folder as a bucket lists its keys: by prefix, in bytewise order of the whole key.
#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/text.h"
#include "store/local/local_store.h"

namespace stoker {
namespace {

// A directory whose stamp is younger than this may have changed without a new stamp.
constexpr int64_t kStampStep = 20;

// One name in a directory as a step through the keys. `name` is what sorts: folders with their '/',
// because "a-b" comes before "a/b"; objects with revisions without their ".rev".
struct Step {
  enum class Kind { kPlain, kRevisions, kFolder } kind;
  std::string name;
  bool operator<(const Step& other) const {
    return name != other.name ? name < other.name : kind > other.kind;
  }
};

// `plain`: in a folder of keys that have no revisions.
std::optional<Step> StepOf(int dir, local::Entry entry, bool plain) {
  if (!plain && StartsWith(entry.name, local::kTmp)) return std::nullopt;
  unsigned char type = entry.type;
  if (type == DT_UNKNOWN) {
    struct stat info = {};
    if (fstatat(dir, entry.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    type = S_ISREG(info.st_mode) ? DT_REG : S_ISDIR(info.st_mode) ? DT_DIR : DT_UNKNOWN;
  }
  const bool rev = !plain && EndsWith(entry.name, local::kRev);
  if (type == DT_REG && !rev) return Step{Step::Kind::kPlain, std::move(entry.name)};
  if (type != DT_DIR) return std::nullopt;
  if (!rev) return Step{Step::Kind::kFolder, std::move(entry.name) + "/"};
  entry.name.resize(entry.name.size() - local::kRev.size());
  return Step{Step::Kind::kRevisions, std::move(entry.name)};
}

// Sorted, each name once (revisions win over a plain leftover). An object that turns from the plain
// form into revisions while a long directory is read could be missed in both; it does that once in
// its life, so that a second look at a directory that is being changed finds it.
Status ReadSteps(const local::Folder& folder, int dir, bool plain, std::vector<Step>* steps) {
  std::vector<local::Entry> entries;
  struct stat before = {};
  struct stat after = {};
  fstat(dir, &before);
  STOKER_TRY(local::ReadEntries(dir, &entries));
  fstat(dir, &after);
  const bool changed = before.st_mtim.tv_sec != after.st_mtim.tv_sec ||
                       before.st_mtim.tv_nsec != after.st_mtim.tv_nsec;
  if (changed || folder.Now().ms - local::ModifiedAt(after).ms < kStampStep) {
    STOKER_TRY(local::ReadEntries(dir, &entries));
  }
  steps->reserve(entries.size());
  for (local::Entry& entry : entries) {
    if (auto step = StepOf(dir, std::move(entry), plain)) steps->push_back(std::move(*step));
  }
  std::sort(steps->begin(), steps->end());
  const auto same = [](const Step& a, const Step& b) { return a.name == b.name; };
  steps->erase(std::unique(steps->begin(), steps->end(), same), steps->end());
  return Status::Ok();
}

struct KeyWalk {
  const local::Folder& folder;
  const std::string& prefix;
  const std::string& after;
  size_t limit;
  Listing& listing;
  LocalStore& store;
  bool keys_alone;  // no look at what each is

  bool Full() const { return listing.objects.size() > limit; }  // one more tells of a next page

  // Whether a key that begins with `start` can be wanted; `whole`: it is a key, not a beginning.
  bool Wanted(const std::string& start, bool whole) const {
    if (!StartsWith(start, prefix) && (whole || !StartsWith(prefix, start))) return false;
    if (after.empty() || start > after) return true;
    return !whole && StartsWith(after, start);
  }

  Status Object(int dir, const Step& step, const std::string& key) const {
    if (keys_alone) {
      if (local::ValidateKey(key).ok()) listing.objects.push_back({key, 0, "", {}});
      return Status::Ok();
    }
    if (step.kind == Step::Kind::kPlain) {
      struct stat info = {};
      if (fstatat(dir, step.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
        listing.objects.push_back(
            {key, info.st_size, local::PlainVersion(info), local::ModifiedAt(info)});
        return Status::Ok();
      }
    }
    auto info = store.Head(key);
    if (info.ok()) listing.objects.push_back(std::move(info).value());
    // Damaged by hand: it is there, and who gets it is told what is wrong. The others are whole.
    else if (info.status().Is(Code::kCorrupt))
      listing.objects.push_back({key, 0, "damaged", {}});
    // Deleted since, or no valid key (a file that somebody else put there).
    else if (!info.status().Is(Code::kNotFound) && !info.status().Is(Code::kInvalid)) {
      return info.status();
    }
    return Status::Ok();
  }

  // `folder_key`: "" or with its '/' at the end.
  Status Run(const std::string& folder_key) const {
    const std::string path = folder_key.empty() ? "" : folder_key.substr(0, folder_key.size() - 1);
    STOKER_ASSIGN(const sys::ScopedFd dir, folder.OpenDir(path));
    if (!dir.valid()) return Status::Ok();
    std::vector<Step> steps;
    STOKER_TRY(ReadSteps(folder, dir.get(), local::Versionless(folder_key), &steps));
    for (const Step& step : steps) {
      if (Full()) return Status::Ok();
      const bool is_folder = step.kind == Step::Kind::kFolder;
      const std::string key = folder_key + step.name;
      if (!Wanted(key, !is_folder)) continue;
      STOKER_TRY(is_folder ? Run(key) : Object(dir.get(), step, key));
    }
    return Status::Ok();
  }
};

// Straight to the folder that holds everything with this prefix.
Status WalkFrom(const KeyWalk& walk) {
  const size_t slash = walk.prefix.rfind('/');
  const std::string start = slash == std::string::npos ? "" : walk.prefix.substr(0, slash + 1);
  if (!start.empty() && !local::ValidateKey(start.substr(0, slash)).ok()) return Status::Ok();
  return walk.Run(start);
}

}  // namespace

Result<Listing> LocalStore::List(const std::string& prefix, const std::string& after, int limit) {
  Listing listing;
  listing.store_now = folder_.Now();
  const KeyWalk walk{folder_, prefix, after, static_cast<size_t>(std::max(limit, 1)),
                     listing, *this,  false};
  STOKER_TRY(WalkFrom(walk));
  if (walk.Full()) {
    listing.objects.pop_back();
    listing.next = listing.objects.back().key;
  }
  return listing;
}

Result<std::vector<std::string>> LocalStore::ListKeys(const std::string& prefix) {
  Listing listing;
  const std::string after;
  const size_t all = std::numeric_limits<size_t>::max();
  STOKER_TRY(WalkFrom({folder_, prefix, after, all, listing, *this, true}));
  std::vector<std::string> keys;
  keys.reserve(listing.objects.size());
  for (ObjectInfo& object : listing.objects) keys.push_back(std::move(object.key));
  return keys;
}

}  // namespace stoker
