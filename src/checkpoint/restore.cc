// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/restore.h"

#include <algorithm>
#include <climits>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "transfer/fetch_target.h"

namespace stoker {
namespace {

// One entry of a directory that gets its name when all is there.
struct NamedLast {
  const ManifestFile* file = nullptr;
  const ManifestFile* of = nullptr;  // it is another name of this one
  int64_t time = 0;                  // when it was changed last
  std::string as = "";               // what it is called until then; "" = nothing comes for it
  bool newer = false;                // than all that are named before
};

// So many of the newest differ by their time of change, too: a program looks for the newest, and
// the kernel needs some ms for each.
constexpr int kToldApart = 64;

// Older stokers kept no time of change, and none at all of links: these came last.
int64_t TimeOf(const ManifestFile& file) {
  if (file.ctime_ns != 0) return file.ctime_ns;
  return file.kind == FileKind::kFile ? file.mtime_ns : INT64_MAX;
}

std::vector<NamedLast> InOrder(const std::vector<ManifestFile>& files) {
  std::map<std::string, const ManifestFile*> by_path;
  for (const ManifestFile& file : files) by_path[file.path] = &file;
  std::vector<NamedLast> names;
  for (const ManifestFile& file : files) {
    NamedLast name{&file, nullptr, TimeOf(file)};
    const auto other = by_path.find(file.same_as);
    // Of another node's part it may be another file, and what says that it is another name is none.
    if (other != by_path.end() && other->second->kind == FileKind::kFile &&
        other->second->sha256 == file.sha256 && other->second->same_as.empty()) {
      name.of = other->second;
      name.time = std::max(name.time, TimeOf(*name.of));
    }
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end(), [](const NamedLast& a, const NamedLast& b) {
    return std::tuple(a.time, a.of != nullptr, a.file->path) <
           std::tuple(b.time, b.of != nullptr, b.file->path);
  });
  int told_apart = 0;
  for (size_t i = names.size(); i-- > 1 && told_apart < kToldApart;) {
    names[i].newer = names[i].time > names[i - 1].time;
    if (names[i].newer) ++told_apart;
  }
  return names;
}

std::string UnusedName(const std::vector<ManifestFile>& files, int rank) {
  std::string name = RestoringFolder(rank);
  const auto used = [&](const ManifestFile& file) {
    return file.path == name || StartsWith(file.path, name + "/");
  };
  while (std::any_of(files.begin(), files.end(), used)) name += "-";
  return name;
}

}  // namespace

std::string RestoringFolder(int rank) { return kRestoring + ("-" + std::to_string(rank)); }

bool IsCutRestore(const std::string& name, int rank, int nodes) {
  if (!StartsWith(name, kRestoring)) return false;
  const std::string rest = name.substr(std::string(kRestoring).size());
  const std::string digits = rest.substr(0, rest.find_last_not_of('-') + 1);  // see UnusedName
  const auto of = digits.empty() ? std::nullopt : WholeNumber(digits.substr(1), 0, 1'000'000);
  // An older stoker's has no rank.
  return digits.empty() || (digits[0] == '-' && of && (*of == rank || *of >= nodes));
}

WantedFile Wanted(const std::string& key, const ManifestFile& file, const std::string& as) {
  return {key, as, file.size, file.sha256, file.mode, file.mtime_ns, file.path};
}

Status FetchBeside(ObjectStore& store, const Movers& movers, const std::string& root,
                   const std::vector<ManifestFile>& files, DirectoryWriter& into) {
  std::vector<WantedFile> wanted;
  for (const ManifestFile& file : files) {
    if (file.kind == FileKind::kDirectory) STOKER_TRY(into.MakeDirectory(file.path));
    if (file.kind == FileKind::kFile) wanted.push_back(Wanted(root + file.object, file, file.path));
  }
  STOKER_TRY(FetchFiles(store, movers, wanted, into));
  for (const ManifestFile& file : files) {
    if (file.kind == FileKind::kLink) STOKER_TRY(into.MakeLink(file.path, file.target));
  }
  return Status::Ok();
}

Status FetchExactly(ObjectStore& store, const Movers& movers, const std::string& root,
                    const std::vector<ManifestFile>& files, int rank, DirectoryWriter& into) {
  std::vector<NamedLast> names = InOrder(files);
  const std::string folder = UnusedName(files, rank);
  const auto spares = [&folder](const std::string& name) {
    return StartsWith(name, kRestoring) && name != folder;
  };
  std::vector<WantedFile> wanted;
  std::set<std::string> come;
  for (NamedLast& name : names) {
    if (name.file->kind != FileKind::kFile || name.of != nullptr) continue;
    name.as = folder + "/" + std::to_string(wanted.size());
    wanted.push_back(Wanted(root + name.file->object, *name.file, name.as));
    come.insert(name.as);
  }
  Status fetched = FetchFiles(store, movers, wanted, into);
  if (fetched.Is(Code::kNoSpace)) {
    STOKER_TRY(into.RemoveOthers({}, spares));
    fetched = FetchFiles(store, movers, wanted, into);
  }
  STOKER_TRY(fetched);
  STOKER_TRY(into.RemoveOthers(come, spares));
  std::vector<WantedFile> no_links;
  std::set<std::string> keep;
  for (const NamedLast& name : names) {
    const ManifestFile& file = *name.file;
    keep.insert(file.path);
    if (!name.as.empty()) {
      STOKER_TRY(OfDirectory(into.Rename(name.as, file.path, name.newer)));
    } else if (file.kind == FileKind::kLink) {
      STOKER_TRY(into.MakeLink(file.path, file.target));
    } else if (file.kind == FileKind::kDirectory) {
      STOKER_TRY(into.MakeDirectory(file.path));
    } else if (!into.MakeHardLink(file.path, name.of->path).ok()) {
      no_links.push_back(Wanted(root + file.object, file, file.path));
    }
  }
  STOKER_TRY(FetchFiles(store, movers, no_links, into));
  return into.RemoveOthers(keep, spares);
}

}  // namespace stoker
