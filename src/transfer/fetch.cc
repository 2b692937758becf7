// SPDX-License-Identifier: Apache-2.0
#include "transfer/fetch.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "ledger/segments/read_again.h"
#include "transfer/fetch_target.h"

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

}  // namespace

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
      Pause(store, PauseBeforeRead(reads));
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
  for (const WantedFile& file : files) sizes[file.key] = file.size;
  STOKER_ASSIGN(const Found found, LookUpWanted(store, movers, sizes));
  std::map<std::string, ObjectInfo> objects;
  std::map<std::string, WantedFile> wanted;
  std::vector<ObjectInfo> all;
  for (const WantedFile& file : files) {
    const auto& info = found.at(file.key);
    if (!info) return MissingFile(file);
    if (info->size != file.size) return DamagedFile(file, "size");
    all.push_back({file.as, info->size, info->version, {}});
    objects[file.as] = *info;
    wanted[file.as] = file;
  }
  SortLargeFirst(&all);
  WantedObjects source(store, std::move(objects));
  FetchTarget target(into, wanted);
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
  return failed.why.WithContext("'" + Printable(NameOf(wanted.at(failed.key))) + "'");
}

}  // namespace stoker
