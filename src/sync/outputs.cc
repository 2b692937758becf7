// SPDX-License-Identifier: Apache-2.0
#include "sync/outputs.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "ledger/paths.h"
#include "sync/checkpoint_store.h"
#include "sync/moment.h"

namespace stoker {
namespace {

constexpr char kManifestPrefix[] = "manifest-";
constexpr int kReadTries = 3;

std::string OutputsManifestKey(const std::string& job, int attempt, int rank) {
  return paths::Artifacts(job) + kManifestPrefix + std::to_string(attempt) + "-" +
         std::to_string(rank) + ".json";
}

bool SameFact(const FileFact& a, const FileFact& b) {
  return a.kind == b.kind && a.ino == b.ino && a.size == b.size && a.mtime_ns == b.mtime_ns &&
         a.target == b.target;
}

// "manifest-<attempt>-<rank>.json" -> id with seq = rank
std::optional<CheckpointId> IdOfOutputsManifest(const std::string& name) {
  const std::string prefix = kManifestPrefix;
  if (!StartsWith(name, prefix) || !EndsWith(name, ".json")) return std::nullopt;
  return ParseCheckpointId(name.substr(prefix.size(), name.size() - prefix.size() - 5));
}

bool Wanted(const std::string& path, const std::string& what) {
  if (what.empty() || path == what || StartsWith(path, what + "/")) return true;
  const size_t at = path.find("/" + what);
  if (at == std::string::npos) return false;
  const size_t end = at + 1 + what.size();
  return end == path.size() || path[end] == '/';
}

}  // namespace

std::string ArtifactPath(int rank, const std::string& path) {
  return rank == 0 ? path : "node-" + std::to_string(rank) + "/" + path;
}

OutputKeeper::OutputKeeper(OutputsConfig config, ObjectStore& store, Clock& clock,
                           std::vector<OutputSource> sources)
    : config_(std::move(config)), store_(store), clock_(clock), sources_(std::move(sources)) {}

bool OutputKeeper::LeftOut(const std::string& path) const {
  return std::any_of(config_.leave_out.begin(), config_.leave_out.end(), [&](const auto& other) {
    return path == other || StartsWith(path, other + "/");
  });
}

Status OutputKeeper::Send(const OutputSource& source, const std::string& path, Seen* seen,
                          bool prefix) {
  ManifestFile file;
  file.path = ArtifactPath(config_.rank, path);
  file.object = file.path;
  file.kind = seen->fact.kind;
  file.target = seen->fact.target;
  file.mode = seen->fact.mode;
  file.mtime_ms = seen->fact.mtime_ns / 1'000'000;
  if (file.kind == FileKind::kFile) {
    SnapshotRequest request;
    (prefix ? request.prefix : request.copy).push_back(seen->fact);
    request.need_task = false;
    STOKER_ASSIGN(std::unique_ptr<Snapshot> copy, source.files->Take(request));
    if (copy->files().empty()) return Status::Ok();  // gone meanwhile
    StagedFile staged;
    staged.fact = copy->files().front();
    staged.snapshot = std::move(copy);
    STOKER_TRY(HashStaged({&staged}, {}));
    file.size = staged.fact.size;
    file.sha256 = staged.sha256;
    STOKER_TRY(SendStaged(store_, {}, {{paths::Artifacts(config_.job) + file.object, &staged}},
                          [](StagedFile*) {}));
  }
  listed_[path] = std::move(file);
  seen->sent = seen->fact;
  seen->sent_at = clock_.Mono();
  seen->ever_sent = true;
  manifest_due_ = true;
  ++uploaded_;
  return Status::Ok();
}

Status OutputKeeper::LookAt(const OutputSource& source, bool all, MonoTime deadline) {
  STOKER_ASSIGN(DirectoryScan scan, source.files->Scan());
  Status first;
  for (const FileFact& fact : scan.files) {
    const MonoTime now = clock_.Mono();
    const std::string path = source.prefix.empty() ? fact.path : source.prefix + "/" + fact.path;
    if (LeftOut(path) || IdOfOutputsManifest(path)) continue;
    const std::string why = WhyNotKept(config_.job, path);
    if (!why.empty()) {
      if (first.ok()) first = Status(Code::kInvalid, "'" + Printable(path) + "': " + why);
      continue;
    }
    Seen& seen = seen_[path];
    if (!SameFact(seen.fact, fact)) seen.since = now;
    seen.fact = fact;
    if (seen.ever_sent && SameFact(seen.sent, fact)) continue;
    if (now >= deadline) return Status(Code::kTimeout, "not every output could be saved in time");
    const bool written = scan.written.count(fact.path) != 0 || scan.mapped.count(fact.path) != 0;
    const bool rests = !written && now - seen.since >= config_.quiet;
    const bool due =
        !seen.ever_sent ? now - seen.since >= config_.grow : now - seen.sent_at >= config_.grow;
    if (!all && !rests && !due) continue;
    Status status = Send(source, path, &seen, !rests && !all);
    // At the end nobody of the job is left who could write; strangers do not matter.
    if (all && (status.Is(Code::kBusy) || status.Is(Code::kConflict))) {
      status = Send(source, path, &seen, true);
    }
    const bool moving = status.Is(Code::kBusy) || status.Is(Code::kConflict);
    if (!status.ok() && !(moving && !all) && first.ok()) {
      first = status.WithContext("output '" + Printable(path) + "'");
    }
  }
  return first;
}

Status OutputKeeper::WriteManifest() {
  if (!manifest_due_) return Status::Ok();
  Part part;
  part.rank = config_.rank;
  for (const auto& [path, file] : listed_) part.files.push_back(file);
  auto put =
      store_.Put(OutputsManifestKey(config_.job, config_.attempt, config_.rank), EncodePart(part));
  if (!put.ok()) return put.status().WithContext("list of outputs");
  manifest_due_ = false;
  return Status::Ok();
}

Status OutputKeeper::Pass(bool all, MonoTime deadline) {
  Status first;
  for (const OutputSource& source : sources_) {
    const Status status = LookAt(source, all, deadline);
    if (!status.ok() && first.ok()) first = status;
  }
  const Status listed = WriteManifest();
  return first.ok() ? listed : first;
}

Status OutputKeeper::Step() { return Pass(false, clock_.Mono() + Duration::Hours(24 * 365)); }

Status OutputKeeper::Finish(MonoTime deadline) {
  Status status = Pass(true, deadline);
  // A store that is away for a moment should not cost the outputs.
  for (int i = 0; i < 3 && status.transient() && clock_.Mono() < deadline; ++i) {
    if (!sources_.empty()) sources_.front().files->Wait(Duration::Ms(500));
    status = Pass(true, deadline);
  }
  return status;
}

Result<std::vector<OutputInfo>> ListOutputs(ObjectStore& store, const std::string& job) {
  std::vector<CheckpointId> ids;
  const std::string prefix = paths::Artifacts(job) + kManifestPrefix;
  STOKER_TRY(ListAll(store, prefix, [&](const ObjectInfo& info) {
    if (auto id = IdOfOutputsManifest(info.key.substr(paths::Artifacts(job).size()))) {
      ids.push_back(*id);
    }
    return Status::Ok();
  }));
  std::sort(ids.begin(), ids.end());
  std::map<std::string, OutputInfo> newest;
  for (const CheckpointId& id : ids) {
    const int rank = static_cast<int>(id.seq);
    auto object = store.Get(OutputsManifestKey(job, id.attempt, rank));
    if (object.code() == Code::kNotFound) continue;
    if (!object.ok()) return object.status();
    auto part = DecodePart(object->data);
    if (!part.ok()) return part.status().WithContext("outputs of attempt " + id.ToString());
    for (const ManifestFile& file : part->files) {
      newest[file.path] = OutputInfo{file.path, id.attempt, rank, file};
    }
  }
  std::vector<OutputInfo> out;
  for (auto& [path, info] : newest) out.push_back(std::move(info));
  return out;
}

Result<Downloaded> DownloadOutputs(ObjectStore& store, const std::string& job,
                                   const std::string& what, DirectoryWriter& into) {
  for (int attempt = 1;; ++attempt) {
    STOKER_ASSIGN(std::vector<OutputInfo> all, ListOutputs(store, job));
    Downloaded done;
    Status status;
    for (const OutputInfo& output : all) {
      if (!Wanted(output.path, what)) continue;
      if (output.file.kind == FileKind::kDirectory) {
        status = into.MakeDirectory(output.path);
      } else if (output.file.kind == FileKind::kLink) {
        status = into.MakeLink(output.path, output.file.target);
      } else {
        status = FetchFile(store, paths::Artifacts(job) + output.file.object, output.file,
                           output.path, into);
        done.bytes += output.file.size;
      }
      if (!status.ok()) break;
      ++done.files;
    }
    // Being replaced just now: the list that names the new one follows.
    if (status.Is(Code::kCorrupt) && attempt < kReadTries) continue;
    if (!status.ok()) return status;
    if (done.files > 0 || what.empty()) return done;
    std::set<std::string> tops;
    for (const OutputInfo& output : all) tops.insert(TopOf(output.path));
    const std::vector<std::string> names(tops.begin(), tops.end());
    return Status(Code::kNotFound, "the job has no output '" + Printable(what) + "'",
                  names.empty() ? "it has no outputs (yet)" : "it has: " + Join(names, ", "));
  }
}

}  // namespace stoker
