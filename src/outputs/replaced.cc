// SPDX-License-Identifier: Apache-2.0
#include "outputs/replaced.h"

#include <algorithm>
#include <utility>

#include "ledger/paths.h"
#include "ledger/segments/read_again.h"
#include "outputs/output_names.h"

namespace stoker {
namespace {

std::string ReplacedKey(const std::string& job, int attempt, const std::string& object) {
  return paths::Replaced(job) + std::to_string(attempt) + "/" + object;
}

// What is there already stays: it came there before the first of its successors.
Status CopyObject(ObjectStore& store, const ObjectInfo& from, const std::string& to) {
  STOKER_ASSIGN(const auto reader, store.OpenReader(from));
  const int64_t part = store.traits().part_bytes;
  if (part == 0 || from.size <= part) {
    return store.PutFrom(to, *reader, Condition::Absent()).status();
  }
  STOKER_ASSIGN(const auto upload, store.BeginParts(to, from.size, Condition::Absent()));
  std::vector<PartSum> sums;
  for (int n = 0; n * upload->part_size() < from.size; ++n) {
    const auto sum = upload->WritePart(n, *reader);
    if (!sum.ok()) upload->Abort();
    if (!sum.ok()) return sum.status();
    sums.push_back(*sum);
  }
  Status status = reader->Confirm(sums);
  if (status.ok()) status = upload->Commit().status();
  if (!status.ok()) upload->Abort();
  return status;
}

}  // namespace

Status ReplacedOutputs::Load() {
  if (loaded_) return Status::Ok();
  earlier_.clear();
  for (int attempt = 1; attempt < attempt_; ++attempt) {
    const auto part = GetJudged(store_, OutputsManifestKey(job_, attempt, rank_),
                                [](const Object& object) { return DecodePart(object.data); });
    if (part.code() == Code::kNotFound || part.code() == Code::kCorrupt) continue;
    if (!part.ok()) return part.status();
    for (const ManifestFile& file : part->files) {
      if (file.kind != FileKind::kFile) continue;
      earlier_[file.object].push_back({attempt, file.sha256, file.size});
    }
  }
  loaded_ = true;
  return Status::Ok();
}

Status ReplacedOutputs::Keep(const std::string& object, const std::string& sha256,
                             const std::function<bool(int64_t bytes)>& may) {
  if (attempt_ <= 1 || done_.count(object) > 0) return Status::Ok();
  STOKER_TRY(Load().WithContext("lists of earlier outputs"));
  const auto found = earlier_.find(object);
  if (found != earlier_.end()) {
    const std::vector<Earlier>& all = found->second;
    if (all.back().sha256 == sha256) return Status::Ok();
    STOKER_TRY(Copy(object, all.back(), may));
    if (all.size() > kKept) {
      const int old = all[all.size() - kKept - 1].attempt;
      (void)store_.Delete(ReplacedKey(job_, old, object));
    }
  }
  done_.insert(object);
  return Status::Ok();
}

Status ReplacedOutputs::Copy(const std::string& object, const Earlier& earlier,
                             const std::function<bool(int64_t bytes)>& may) {
  const auto there = store_.Head(paths::Artifacts(job_) + object);
  if (there.status().Is(Code::kNotFound)) return Status::Ok();
  if (!there.ok()) return there.status();
  // An attempt that was not listed has written over it.
  if (there->size != earlier.size) return Status::Ok();
  const std::string to = ReplacedKey(job_, earlier.attempt, object);
  if (store_.Head(to).ok()) return Status::Ok();
  if (!may(earlier.size)) {
    return Status(Code::kTimeout, "there was no time to copy it before it was replaced");
  }
  const Status copied = CopyObject(store_, *there, to);
  return copied.Is(Code::kExists) ? Status::Ok() : copied;
}

Status OldOutputs::Look(ObjectStore& store, const std::string& job) {
  job_ = job;
  return ListAll(store, paths::Replaced(job), [this](const ObjectInfo& info) {
    there_.insert(info.key);
    return Status::Ok();
  });
}

void OldOutputs::Add(int attempt, const ManifestFile& file) {
  if (file.kind == FileKind::kFile) content_[file.object][attempt] = file.sha256;
}

std::string OldOutputs::KeyOf(int attempt, const ManifestFile& file) const {
  const auto found = content_.find(file.object);
  if (found == content_.end()) return "";
  int last = attempt;  // that had the same content there, with none between
  for (auto at = found->second.find(attempt); at != found->second.end(); ++at) {
    if (at->second != file.sha256) break;
    last = at->first;
    const std::string key = ReplacedKey(job_, at->first, file.object);
    if (there_.count(key) > 0) return key;
  }
  const bool newest = last == found->second.rbegin()->first;
  return newest ? paths::Artifacts(job_) + file.object : "";
}

}  // namespace stoker
