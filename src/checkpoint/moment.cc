// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/moment.h"

#include <algorithm>
#include <tuple>

#include "base/deliberate_bug.h"
#include "ledger/paths.h"
#include "transfer/named_upload.h"

namespace stoker {

Status UploadMoment(ObjectStore& store, const Movers& movers, const std::string& job,
                    const std::string& folder, const std::map<std::string, std::string>& known,
                    bool keeps_copies, Moment* moment) {
  std::vector<StagedFile*> due;
  for (const auto& [path, file] : moment->files) {
    if (file->fact.kind == FileKind::kFile && file->object.empty()) due.push_back(file.get());
  }
  STOKER_TRY(HashStaged(due, movers));
  std::map<std::string, StagedFile*> missing;  // by path
  for (StagedFile* file : due) {
    const auto same = known.find(file->sha256);
    if (same == known.end()) {
      missing[file->fact.path] = file;
      if (BugIsOn("manifest-before-data")) file->object = folder + file->fact.path;
      continue;
    }
    file->object = same->second;
    file->snapshot.reset();
  }
  Movers together = movers;
  together.options.all_or_nothing = true;  // the next try may be of a newer moment
  return SendNamed(store, together, {paths::Checkpoints(job), folder}, missing,
                   [&](StagedFile* file) {
                     if (!keeps_copies) file->snapshot.reset();  // gives its room back
                   });
}

void DropCopies(const Moment& moment) {
  for (const auto& [path, file] : moment.files) {
    if (!file->object.empty()) file->snapshot.reset();
  }
}

bool HasOriginals(const Moment& moment) {
  return std::any_of(moment.files.begin(), moment.files.end(),
                     [](const auto& entry) { return entry.second->original != nullptr; });
}

Status OriginalsSame(const Moment& moment) {
  for (const auto& [path, file] : moment.files) {
    if (file->original) STOKER_TRY(file->original->StillSame(file->index));
  }
  return Status::Ok();
}

namespace {

// Files that are one under several names, each told by the first of them. One inode at one time:
// the next file with its number has another.
class SameFiles {
 public:
  std::string Find(const std::string& path, const StagedFile& file) {
    const FileFact& fact = file.fact;
    if (fact.kind != FileKind::kFile || fact.ino == 0) return "";
    const auto [it, first] =
        known_.try_emplace({fact.ino, fact.mtime_ns, fact.size, file.sha256}, path);
    return first ? "" : it->second;
  }

 private:
  std::map<std::tuple<uint64_t, int64_t, int64_t, std::string>, std::string> known_;
};

}  // namespace

Part PartOf(const Moment& moment, int rank) {
  Part part;
  part.rank = rank;
  part.done = moment.done;
  part.step = moment.counted ? moment.step : -1;
  SameFiles same;
  for (const auto& [path, staged] : moment.files) {
    ManifestFile file;
    file.path = path;
    file.kind = staged->fact.kind;
    file.size = staged->fact.size;
    file.sha256 = staged->sha256;
    file.object = staged->object;
    file.mode = staged->fact.mode;
    file.mtime_ns = staged->fact.mtime_ns;
    file.ctime_ns = staged->fact.ctime_ns;
    file.same_as = same.Find(path, *staged);
    file.target = staged->fact.target;
    file.restored = staged->restored;
    part.files.push_back(std::move(file));
  }
  return part;
}

StagedFiles RestoredFiles(const Manifest& manifest, int rank, const DirectoryScan& scan) {
  std::map<std::string, FileFact> facts;
  for (const FileFact& fact : scan.files) facts[fact.path] = fact;
  StagedFiles out;
  for (const ManifestFile& file : UnionFor(manifest, rank)) {
    const auto it = facts.find(file.path);
    if (it == facts.end() || it->second.kind != file.kind) continue;
    if (file.kind == FileKind::kFile &&
        (it->second.size != file.size ||
         it->second.mtime_ns / 1'000'000 != file.mtime_ns / 1'000'000)) {
      continue;
    }
    if (file.kind == FileKind::kLink && it->second.target != file.target) continue;
    auto staged = std::make_shared<StagedFile>();
    staged->fact = it->second;
    staged->sha256 = file.sha256;
    staged->object = file.object;
    staged->restored = true;
    out[file.path] = std::move(staged);
  }
  return out;
}

}  // namespace stoker
