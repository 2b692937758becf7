// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_store.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "checkpoint/as_left.h"
#include "checkpoint/restore.h"
#include "job/checkpoint_name.h"
#include "ledger/paths.h"
#include "ledger/segments/read_again.h"

namespace stoker {
namespace {

bool IsStoreFailure(const Status& status) {
  return status.transient() || status.Is(Code::kDenied) || status.Is(Code::kInternal) ||
         status.Is(Code::kNoSpace);
}

Result<std::vector<CheckpointId>> ListIds(ObjectStore& store, const std::string& job) {
  std::vector<CheckpointId> ids;
  STOKER_TRY(ListAll(store, ManifestsPrefix(job), [&](const ObjectInfo& info) {
    const auto id = IdOfManifestKey(info.key);
    if (id && IsCommitted(info)) ids.push_back(*id);
    return Status::Ok();
  }));
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<bool> IsThere(ObjectStore& store, const std::string& job, const CheckpointId& id) {
  const auto info = store.Head(ManifestKey(job, id));
  if (info.ok()) return IsCommitted(*info);
  if (info.status().Is(Code::kNotFound)) return false;
  return info.status();
}

// Whether `now` is `before` after further commits and what they clear away: what is new is newer
// than all of it, and what is no longer there is gone. False as well where a list was not whole.
Result<bool> WentOn(ObjectStore& store, const std::string& job,
                    const std::vector<CheckpointId>& before, const std::vector<CheckpointId>& now) {
  if (before.empty()) return false;
  for (const CheckpointId& id : now) {
    if (id <= before.back() && !std::binary_search(before.begin(), before.end(), id)) return false;
  }
  for (const CheckpointId& id : before) {
    if (std::binary_search(now.begin(), now.end(), id)) continue;
    STOKER_ASSIGN(const bool there, IsThere(store, job, id));
    if (there) return false;
  }
  return true;
}

// What a list leaves out is not restored, and nobody would know. So it is asked for until it comes
// twice alike; where nothing travels, once is enough. A job that commits as often as a slow store
// lists never lists alike: the last two must tell one story then.
Result<std::vector<CheckpointId>> ListIdsSurely(ObjectStore& store, const std::string& job) {
  STOKER_ASSIGN(std::vector<CheckpointId> ids, ListIds(store, job));
  if (store.traits().requests_are_free) return ids;
  std::vector<CheckpointId> before;
  for (int reads = 2; reads <= 1 + kReads; ++reads) {
    if (reads > 2) Pause(store, PauseBeforeRead(reads - 1));
    before = std::move(ids);
    STOKER_ASSIGN(ids, ListIds(store, job));
    if (before == ids) return ids;
  }
  STOKER_ASSIGN(const bool went_on, WentOn(store, job, before, ids));
  if (went_on) return ids;
  return Status(Code::kUnavailable, "no two lists of the checkpoints of job " + job + " are alike",
                "Try again in a moment");
}

// What was left has the number 0 of its attempt.
std::optional<CheckpointId> IdOf(const std::string& name) {
  if (IsAsLeft(name)) return CheckpointId{AttemptOfAsLeft(name), 0};
  if (const auto left = ParseLeftOfNode(name)) return CheckpointId{left->attempt, 0};
  return ParseCheckpointId(name);
}

CheckpointInfo Describe(const Manifest& manifest) {
  CheckpointInfo info;
  info.step = manifest.step;
  info.created = manifest.created;
  info.reason = manifest.reason;
  std::set<std::string> paths;
  for (const Part& part : manifest.parts) {
    if (!part.none && !part.files.empty()) ++info.nodes;
    for (const ManifestFile& file : part.files) {
      if (file.kind != FileKind::kFile || !paths.insert(file.path).second) continue;
      ++info.files;
      info.bytes += file.size;
    }
  }
  return info;
}

// What lies below a job's checkpoints, by what it is; from one listing, which as long as there are
// fewer than a thousand objects is one request.
struct Stored {
  std::vector<CheckpointId> committed;
  std::vector<std::string> data;                             // as manifests name it
  std::vector<std::pair<std::string, CheckpointId>> beside;  // keys of rounds and of their parts
  std::vector<std::string> finals;                           // keys
};

Result<Stored> ListStored(ObjectStore& store, const std::string& job) {
  const std::string root = paths::Checkpoints(job);
  Stored stored;
  STOKER_TRY(ListAll(store, root, [&](const ObjectInfo& info) {
    const std::string object = info.key.substr(root.size());
    if (StartsWith(object, "data/")) stored.data.push_back(object);
    if (StartsWith(object, "finals/")) stored.finals.push_back(info.key);
    if (StartsWith(info.key, ManifestsPrefix(job))) {
      const auto id = IdOfManifestKey(info.key);
      if (id && IsCommitted(info)) stored.committed.push_back(*id);
    }
    if (!StartsWith(object, "rounds/") && !StartsWith(object, "parts/")) return Status::Ok();
    const std::string name = object.substr(object.find('/') + 1);
    const std::vector<std::string> parts = Split(name.substr(0, name.find('.')), '-');
    if (parts.size() < 2) return Status::Ok();
    const auto id = ParseCheckpointId(parts[0] + "-" + parts[1]);
    if (id) stored.beside.emplace_back(info.key, *id);
    return Status::Ok();
  }));
  std::sort(stored.committed.begin(), stored.committed.end());
  return stored;
}

// Of the attempt that clears away, what lies above its last committed number may be part of a
// commit under way on other nodes. Those before it are sealed.
Status SweepData(ObjectStore& store, const std::string& job, const std::vector<std::string>& data,
                 const std::set<std::string>& named, const CheckpointId& last) {
  for (const std::string& object : data) {
    if (named.count(object) != 0 && !BugIsOn("named-data-swept")) continue;
    const auto id = IdOfData(object.substr(5));
    if (id && *id <= last) STOKER_TRY(store.Delete(paths::Checkpoints(job) + object));
  }
  return Status::Ok();
}

}  // namespace

Result<CheckpointInfo> InspectCheckpoint(ObjectStore& store, const std::string& job,
                                         const std::string& id) {
  CheckpointInfo info;
  auto manifest = LoadManifest(store, job, id);
  Status status = manifest.status();
  if (manifest.ok()) {
    info = Describe(*manifest);
    status = CheckObjects(store, *manifest);
  }
  if (IsStoreFailure(status)) return status;
  if (const auto named = IdOf(id)) {
    info.attempt = named->attempt;
    info.seq = named->seq;
  }
  info.id = id;
  info.whole = status.ok();
  if (!status.ok()) info.why_not = status.message();
  return info;
}

Result<Manifest> LoadManifest(ObjectStore& store, const std::string& job, const std::string& id) {
  const auto parsed = IdOf(id);
  if (!parsed) {
    return Status(Code::kInvalid, "'" + Printable(id) + "' is not a checkpoint id",
                  "ids look like 2-14: see 'stoker checkpoints'");
  }
  const auto of_node = ParseLeftOfNode(id);
  const std::string key = of_node        ? LeftOfNodeKey(job, *of_node)
                          : IsAsLeft(id) ? AsLeftKey(job, parsed->attempt)
                                         : ManifestKey(job, *parsed);
  auto read = GetJudged(store, key, [&](const Object& object) -> Result<Manifest> {
    if (!IsCommitted(object.info)) {
      return Status(Code::kNotFound, "it has been cleared away");
    }
    STOKER_ASSIGN(Manifest manifest, DecodeManifest(object.data));
    if (manifest.id == *parsed && manifest.job == job) return manifest;
    return Status(Code::kCorrupt, "it is that of another job or number");
  });
  return read.ok() ? read : read.status().WithContext("checkpoint " + id);
}

Status CheckObjects(ObjectStore& store, const Manifest& manifest) {
  const std::string root = paths::Checkpoints(manifest.job);
  std::map<std::string, int64_t> sizes;
  for (const Part& part : manifest.parts) {
    for (const ManifestFile& file : part.files) {
      if (file.kind == FileKind::kFile) sizes[root + file.object] = file.size;
    }
  }
  STOKER_ASSIGN(const auto found, LookUpWanted(store, {}, sizes));
  for (const Part& part : manifest.parts) {
    for (const ManifestFile& file : part.files) {
      if (file.kind != FileKind::kFile) continue;
      const auto& info = found.at(root + file.object);
      if (info && info->size == file.size) continue;
      return Status(Code::kCorrupt, "'" + Printable(file.path) + "' of checkpoint " +
                                        manifest.id.ToString() +
                                        (info ? " has the wrong size" : " is missing"));
    }
  }
  return Status::Ok();
}

Result<std::vector<CheckpointInfo>> ListCheckpoints(ObjectStore& store, const std::string& job) {
  STOKER_ASSIGN(std::vector<CheckpointId> ids, ListIdsSurely(store, job));
  if (BugIsOn("lower-attempt-restored")) {
    std::stable_sort(ids.begin(), ids.end(), [](auto& a, auto& b) { return a.seq < b.seq; });
  }
  std::vector<CheckpointInfo> out;
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    STOKER_ASSIGN(CheckpointInfo info, InspectCheckpoint(store, job, id->ToString()));
    if (!info.whole) {
      STOKER_ASSIGN(const bool there, IsThere(store, job, *id));
      if (!there) continue;  // cleared away since it was listed
    }
    out.push_back(std::move(info));
  }
  return out;
}

Result<std::optional<CheckpointInfo>> NewestCheckpoint(ObjectStore& store, const std::string& job,
                                                       const std::set<std::string>& suspects) {
  STOKER_ASSIGN(std::vector<CheckpointId> ids, ListIds(store, job));
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    if (suspects.count(id->ToString()) != 0) continue;
    STOKER_ASSIGN(CheckpointInfo info, InspectCheckpoint(store, job, id->ToString()));
    if (info.whole) return std::optional<CheckpointInfo>(std::move(info));
  }
  return std::optional<CheckpointInfo>();
}

namespace {

Status FetchOnce(ObjectStore& store, const std::string& job, const std::string& id, int rank,
                 bool exactly, DirectoryWriter& into, const Movers& movers) {
  STOKER_ASSIGN(Manifest manifest, LoadManifest(store, job, id));
  const std::vector<ManifestFile> files = UnionFor(manifest, rank);
  const std::string root = paths::Checkpoints(job);
  return exactly ? FetchExactly(store, movers, root, files, rank, into)
                 : FetchBeside(store, movers, root, files, into);
}

// The same bytes may arrive once more while they are read, from a writer whose answer was lost.
Status Fetch(ObjectStore& store, const std::string& job, const std::string& id, int rank,
             bool exactly, DirectoryWriter& into, const Movers& movers) {
  constexpr int kTries = 3;
  Status status;
  for (int tries = 0; tries < kTries; ++tries) {
    status = FetchOnce(store, job, id, rank, exactly, into, movers);
    if (!status.Is(Code::kConflict)) return status;
  }
  return Status(Code::kUnavailable, status.message());
}

// A node's last word may go into a checkpoint that is still to come, whatever its number.
Status NameFinals(ObjectStore& store, const std::string& job,
                  const std::vector<std::string>& finals, int attempt, std::set<std::string>* named,
                  bool* readable) {
  const std::string own = paths::Checkpoints(job) + "finals/" + std::to_string(attempt) + "-";
  for (const std::string& key : finals) {
    if (!StartsWith(key, own)) continue;
    const auto part =
        GetJudged(store, key, [](const Object& object) { return DecodePart(object.data); });
    if (IsStoreFailure(part.status())) return part.status();
    *readable = *readable && part.ok();
    if (!part.ok()) continue;
    for (const ManifestFile& file : part->files) named->insert(file.object);
  }
  return Status::Ok();
}

}  // namespace

bool BlamesCheckpoint(const Status& failure) {
  return failure.Is(Code::kCorrupt) || failure.Is(Code::kNotFound) || failure.Is(Code::kInvalid) ||
         failure.Is(Code::kTooNew);
}

Status RestoreCheckpoint(ObjectStore& store, const std::string& job, const std::string& id,
                         int rank, DirectoryWriter& into, const Movers& movers) {
  if (BugIsOn("nothing-restored")) return Status::Ok();
  return Fetch(store, job, id, rank, true, into, movers)
      .WithContext("cannot restore checkpoint " + id);
}

Status DownloadCheckpoint(ObjectStore& store, const std::string& job, const std::string& id,
                          int rank, DirectoryWriter& into, const Movers& movers) {
  return Fetch(store, job, id, rank, false, into, movers)
      .WithContext("cannot get checkpoint " + id);
}

Status RetainCheckpoints(ObjectStore& store, const std::string& job, const Retention& retention) {
  if (retention.keep <= 0) return Status::Ok();
  STOKER_ASSIGN(const Stored stored, ListStored(store, job));
  const std::vector<CheckpointId>& ids = stored.committed;
  if (ids.empty() || ids.back().attempt != retention.attempt) return Status::Ok();
  std::set<std::string> named;
  std::vector<CheckpointId> doomed;
  int kept = 0;
  bool readable = true;
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    if (kept >= retention.keep && retention.protect.count(id->ToString()) == 0) {
      doomed.push_back(*id);
      continue;
    }
    auto manifest = LoadManifest(store, job, id->ToString());
    if (!manifest.ok()) {
      if (IsStoreFailure(manifest.status())) return manifest.status();
      readable = false;  // whoever wrote it may know what it names
      continue;
    }
    if (kept < retention.keep) ++kept;
    for (const Part& part : manifest->parts) {
      for (const ManifestFile& file : part.files) named.insert(file.object);
    }
  }
  for (const CheckpointId& id : doomed) {
    // What an agent that is gone has sent, only it knew.
    const bool sure = id.attempt == retention.attempt && retention.unsure.count(id) == 0;
    const std::string key = ManifestKey(job, id);
    STOKER_TRY(sure ? store.Delete(key) : store.Put(key, "").status());
  }
  STOKER_TRY(NameFinals(store, job, stored.finals, retention.attempt, &named, &readable));
  if (readable) STOKER_TRY(SweepData(store, job, stored.data, named, ids.back()));
  // Rounds and parts are in the manifests by now.
  for (const auto& [key, id] : stored.beside) {
    if (id < ids.back()) STOKER_TRY(store.Delete(key));
  }
  return Status::Ok();
}

Status SealAttempt(ObjectStore& store, const std::string& job, int attempt) {
  if (BugIsOn("seal-forgotten")) return Status::Ok();
  const std::string root = paths::Checkpoints(job);
  int64_t last = 0;
  STOKER_TRY(ListAll(store, ManifestsPrefix(job), [&](const ObjectInfo& info) {
    const auto id = IdOfManifestKey(info.key);
    if (id && id->attempt == attempt) last = std::max(last, id->seq);
    return Status::Ok();
  }));
  std::set<int64_t> begun;
  for (const std::string folder : {"data/", "rounds/"}) {
    const std::string prefix = root + folder + std::to_string(attempt) + "-";
    STOKER_TRY(ListAll(store, prefix, [&](const ObjectInfo& info) {
      const std::string name = info.key.substr(root.size() + folder.size());
      const auto id =
          folder == "data/" ? IdOfData(name) : ParseCheckpointId(name.substr(0, name.find('.')));
      if (id && id->seq > last) begun.insert(id->seq);
      return Status::Ok();
    }));
  }
  for (const int64_t seq : begun) {
    auto put = store.Put(ManifestKey(job, {attempt, seq}), "", Condition::Absent());
    if (!put.ok() && !put.status().Is(Code::kExists)) return put.status();
  }
  return SealAsLeft(store, job, attempt);
}

}  // namespace stoker
