// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/fetch.h"

#include <algorithm>
#include <climits>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "checkpoint/restore_target.h"
#include "ledger/segments/read_again.h"

namespace stoker {
namespace {

constexpr int kPage = 10'000;
constexpr size_t kWorthAList = 3;  // wanted files of one folder
// What was damaged on its way is whole when it comes again; what is damaged in the store is not.
constexpr int kDamagedTries = 3;

std::string FolderOf(const std::string& key) { return key.substr(0, key.rfind('/') + 1); }

using Found = std::map<std::string, std::optional<ObjectInfo>>;

// All wanted keys of one folder. `last` is the last of them: nobody asks for what comes behind.
Status ListWanted(ObjectStore& store, const std::string& folder, const std::string& last,
                  Found* found) {
  std::string after;
  do {
    STOKER_ASSIGN(Listing page, store.List(folder, after, kPage));
    for (ObjectInfo& info : page.objects) {
      const auto wanted = found->find(info.key);
      if (wanted != found->end()) wanted->second = std::move(info);
    }
    after = page.next;
  } while (!after.empty() && after < last);
  return Status::Ok();
}

// Objects of the store, under the names that their files are to have.
class WantedObjects : public TransferSource {
 public:
  WantedObjects(ObjectStore& store, std::map<std::string, ObjectInfo> objects)
      : store_(store), objects_(std::move(objects)) {}
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override {
    return store_.OpenReader(objects_.at(info.key));
  }
  int64_t throttled() const override { return store_.throttled(); }

 private:
  ObjectStore& store_;
  const std::map<std::string, ObjectInfo> objects_;
};

// Half a directory is of no use: it is fetched anew.
class NothingKept : public TransferMemory {
 public:
  std::string Begun(const std::string&, const Version&) const override { return ""; }
  Status NoteBegun(const std::string&, const Version&, const std::string&) override {
    return Status::Ok();
  }
  Status NoteSame(const std::string&, const Version&, const Version&) override {
    return Status::Ok();
  }
  bool lasts() const override { return false; }
};

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

Result<Found> LookUp(ObjectStore& store, const Movers& movers,
                     const std::vector<std::string>& keys) {
  Found found;
  for (const std::string& key : keys) found[key] = std::nullopt;
  std::map<std::string, std::vector<std::string>> folders;
  for (const auto& [key, info] : found) folders[FolderOf(key)].push_back(key);
  std::vector<std::string> alone;
  for (const auto& [folder, wanted] : folders) {
    if (wanted.size() >= kWorthAList) {
      STOKER_TRY(ListWanted(store, folder, wanted.back(), &found));
    } else {
      alone.insert(alone.end(), wanted.begin(), wanted.end());
    }
  }
  STOKER_TRY(WorkThrough(movers, alone.size(), [&](size_t index) {
    auto info = store.Head(alone[index]);
    if (info.ok()) found.at(alone[index]) = std::move(*info);
    return info.code() == Code::kNotFound ? Status::Ok() : info.status();
  }));
  return found;
}

Result<Found> LookUpWanted(ObjectStore& store, const Movers& movers,
                           const std::map<std::string, int64_t>& sizes) {
  std::vector<std::string> keys;
  for (const auto& [key, size] : sizes) keys.push_back(key);
  STOKER_ASSIGN(Found found, LookUp(store, movers, keys));
  for (auto& [key, info] : found) {
    const int64_t size = sizes.at(key);
    const auto right = [size](const auto& seen) { return seen && seen->size == size; };
    for (int reads = 2; reads <= kReads && !right(info); ++reads) {
      Rest(store, PauseBeforeRead(reads));
      auto head = store.Head(key);
      if (!head.ok() && !head.status().Is(Code::kNotFound)) return head.status();
      info = head.ok() ? std::optional(*head) : std::nullopt;
    }
    if (!right(info)) break;
  }
  return found;
}

Status FetchFiles(ObjectStore& store, const Movers& movers, const std::vector<WantedFile>& files,
                  DirectoryWriter& into) {
  std::map<std::string, int64_t> sizes;
  for (const WantedFile& file : files) sizes[file.key] = file.file.size;
  STOKER_ASSIGN(const Found found, LookUpWanted(store, movers, sizes));
  std::map<std::string, ObjectInfo> objects;
  std::map<std::string, ManifestFile> wanted;
  std::vector<ObjectInfo> all;
  for (const WantedFile& file : files) {
    const auto& info = found.at(file.key);
    if (!info) return MissingFile(file.file);
    if (info->size != file.file.size) return DamagedFile(file.file, "size");
    all.push_back({file.as, info->size, info->version, {}});
    objects[file.as] = *info;
    wanted[file.as] = file.file;
  }
  SortLargeFirst(&all);
  WantedObjects source(store, std::move(objects));
  RestoreTarget target(into, wanted);
  NothingKept memory;
  Movers together = movers;
  together.options.all_or_nothing = true;
  TransferReport report;
  std::map<std::string, int> damaged;
  do {
    std::erase_if(all, [&target](const ObjectInfo& file) { return target.Has(file.key); });
    report = MoveFiles(source, target, memory, together, all);
    if (report.failed.empty()) return Status::Ok();
  } while (report.failed.front().why.Is(Code::kCorrupt) &&
           ++damaged[report.failed.front().key] < kDamagedTries);
  const OddKey& failed = report.failed.front();
  if (failed.why.Is(Code::kCorrupt)) return failed.why;  // names it
  if (failed.why.Is(Code::kNotFound)) return MissingFile(wanted.at(failed.key));
  return failed.why.WithContext("'" + Printable(wanted.at(failed.key).path) + "'");
}

Status FetchBeside(ObjectStore& store, const Movers& movers, const std::string& root,
                   const std::vector<ManifestFile>& files, DirectoryWriter& into) {
  std::vector<WantedFile> wanted;
  for (const ManifestFile& file : files) {
    if (file.kind == FileKind::kDirectory) STOKER_TRY(into.MakeDirectory(file.path));
    if (file.kind == FileKind::kFile) wanted.push_back({root + file.object, file, file.path});
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
    wanted.push_back({root + name.file->object, *name.file, name.as});
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
      no_links.push_back({root + file.object, file, file.path});
    }
  }
  STOKER_TRY(FetchFiles(store, movers, no_links, into));
  return into.RemoveOthers(keep, spares);
}

}  // namespace stoker
