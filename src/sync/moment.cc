// SPDX-License-Identifier: Apache-2.0
#include "sync/moment.h"

#include <algorithm>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "job/digest.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

constexpr int64_t kPiece = 1 << 20;

// All of a staged file, in pieces.
template <typename Each>
Status ForEachPiece(const StagedFile& file, Each each) {
  std::vector<char> buffer(
      static_cast<size_t>(std::min(kPiece, std::max<int64_t>(file.fact.size, 1))));
  for (int64_t at = 0; at < file.fact.size;) {
    const int64_t wanted =
        std::min<int64_t>(static_cast<int64_t>(buffer.size()), file.fact.size - at);
    STOKER_ASSIGN(int64_t got, file.snapshot->Read(file.index, at, buffer.data(), wanted));
    if (got <= 0) return Status(Code::kInternal, "the copy of '" + file.fact.path + "' is short");
    STOKER_TRY(each(std::string_view(buffer.data(), static_cast<size_t>(got))));
    at += got;
  }
  return Status::Ok();
}

}  // namespace

Status HashStaged(StagedFile* file) {
  Sha256 hash;
  STOKER_TRY(ForEachPiece(*file, [&](std::string_view piece) {
    hash.Update(piece);
    return Status::Ok();
  }));
  file->sha256 = hash.Hex();
  return Status::Ok();
}

Status UploadStaged(ObjectStore& store, const std::string& key, const StagedFile& file) {
  STOKER_ASSIGN(std::unique_ptr<Upload> upload, store.BeginUpload(key));
  const int fd = file.snapshot->Descriptor(file.index);
  if (fd >= 0) {
    STOKER_TRY(upload->WriteFile(fd, file.fact.size));
  } else {
    STOKER_TRY(ForEachPiece(file, [&](std::string_view piece) { return upload->Write(piece); }));
  }
  auto version = upload->Commit();
  return version.ok() ? Status::Ok() : version.status();
}

Status UploadMoment(ObjectStore& store, const std::string& job, const std::string& folder,
                    const std::map<std::string, std::string>& known, Moment* moment) {
  for (auto& [path, file] : moment->files) {
    if (file->fact.kind != FileKind::kFile || !file->object.empty()) continue;
    if (file->sha256.empty()) STOKER_TRY(HashStaged(file.get()));
    const auto same = known.find(file->sha256);
    std::string object = same != known.end() ? same->second : folder + path;
    if (BugIsOn("manifest-before-data")) file->object = object;
    if (same == known.end()) {
      const Status status = UploadStaged(store, paths::Checkpoints(job) + object, *file);
      const bool lost = status.Is(Code::kTimeout) && BugIsOn("lost-answer-is-success");
      if (!status.ok() && !lost)
        return status.WithContext("cannot upload '" + Printable(path) + "'");
    }
    file->object = std::move(object);
    file->snapshot.reset();
  }
  return Status::Ok();
}

Part PartOf(const Moment& moment, int rank) {
  Part part;
  part.rank = rank;
  part.cycle = moment.cycle;
  part.step = moment.counted ? moment.step : -1;
  for (const auto& [path, staged] : moment.files) {
    ManifestFile file;
    file.path = path;
    file.kind = staged->fact.kind;
    file.size = staged->fact.size;
    file.sha256 = staged->sha256;
    file.object = staged->object;
    file.mode = staged->fact.mode;
    file.mtime_ms = staged->fact.mtime_ns / 1'000'000;
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
        (it->second.size != file.size || it->second.mtime_ns / 1'000'000 != file.mtime_ms)) {
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
