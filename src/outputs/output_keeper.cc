// SPDX-License-Identifier: Apache-2.0
#include "outputs/output_keeper.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/text.h"
#include "ledger/paths.h"
#include "outputs/output_names.h"
#include "transfer/named_upload.h"
#include "transfer/object_name.h"

namespace stoker {
namespace {

// Copies need room until they are sent.
constexpr size_t kMostTogether = 128;
constexpr int64_t kBytesTogether = int64_t{256} << 20;
// What an earlier attempt has kept is copied at the end if that takes a quarter of the time at
// most.
constexpr int64_t kLittle = 1 << 20;
constexpr int64_t kBytesInMs = 10'000;

bool SameFact(const FileFact& a, const FileFact& b) {
  return a.kind == b.kind && a.ino == b.ino && a.size == b.size && a.mtime_ns == b.mtime_ns &&
         a.target == b.target;
}

// Names below artifacts/ that are the lists', or other nodes' folders.
bool Taken(int rank, const std::string& path) {
  if (rank != 0) return false;
  return IdOfOutputsManifest(path) || StartsWith(path, "node-");
}

}  // namespace

OutputKeeper::OutputKeeper(OutputsConfig config, ObjectStore& store, Clock& clock,
                           std::vector<OutputSource> sources)
    : config_(std::move(config)),
      store_(store),
      clock_(clock),
      replaced_(store, config_.job, config_.attempt, config_.rank),
      sources_(std::move(sources)) {}

bool OutputKeeper::LeftOut(const std::string& path) const {
  return std::any_of(config_.leave_out.begin(), config_.leave_out.end(), [&](const auto& other) {
    return path == other || StartsWith(path, other + "/");
  });
}

bool OutputKeeper::Kept(const std::function<bool(const std::string& path)>& matches) const {
  return std::any_of(listed_.begin(), listed_.end(),
                     [&](const auto& one) { return matches(one.first); });
}

struct OutputKeeper::Batch {
  struct One {
    std::string path;  // in the work directory
    Seen* seen = nullptr;
    FileFact fact;  // that it was copied by
    ManifestFile listed;
    StagedFile copy;
  };
  std::vector<One> files;
  int64_t bytes = 0;
  bool full() const { return files.size() >= kMostTogether || bytes >= kBytesTogether; }
};

// Of the files whose hashes are known, what earlier attempts have in their places. What cannot be
// kept now waits, if it is not the end; a file that is new matters more than one that is old.
void OutputKeeper::KeepReplaced(const Batch& batch, std::map<std::string, Status>* failed) {
  const std::string before = ArtifactPath(config_.rank, "");
  const size_t above = paths::Artifacts(config_.job).size() + before.size();
  const auto may = [this](int64_t bytes) {
    return bytes <= kLittle || bytes / kBytesInMs < (deadline_ - clock_.Mono()).ms / 4;
  };
  for (const Batch::One& one : batch.files) {
    if (one.listed.kind != FileKind::kFile || failed->count(one.path) > 0) continue;
    Status kept;  // under whichever name it has in this store
    for (const auto& name : {ObjectOf(one.path, above), OddObject(one.path)}) {
      if (kept.ok()) kept = replaced_.Keep(before + name, one.copy.sha256, may);
    }
    if (kept.ok()) continue;
    if (!last_ && kept.transient() && !kept.Is(Code::kTimeout)) {
      (*failed)[one.path] = kept;
    } else {
      left_out_[one.path + " (of an earlier attempt)"] = kept.message();
    }
  }
}

void OutputKeeper::LeaveOut(const std::string& path, Seen* seen, const std::string& why) {
  left_out_[path] = why;
  if (seen == nullptr) return;
  seen->sent = seen->fact;
  seen->sent_at = clock_.Mono();
  seen->refused = true;
}

void OutputKeeper::Failed(const std::string& path, Seen* seen, const Status& why) {
  if (RefusesName(why) || why.Is(Code::kTooNew)) {
    LeaveOut(path, seen, why.message());
  } else {
    waiting_[path] = why;
  }
}

// A file and the copy of it, null for what is no file; on its way with the others.
Status OutputKeeper::Add(const std::string& path, Seen* seen, std::unique_ptr<Snapshot> copy,
                         Batch* batch) {
  Batch::One one{path, seen, seen->fact, {}, {}};
  one.listed.path = ArtifactPath(config_.rank, path);
  one.listed.kind = seen->fact.kind;
  one.listed.target = seen->fact.target;
  one.listed.mode = seen->fact.mode;
  one.listed.mtime_ns = seen->fact.mtime_ns;
  if (copy) {
    one.copy.fact = copy->files().front();
    one.copy.snapshot = std::move(copy);
    one.listed.size = one.copy.fact.size;
    batch->bytes += one.listed.size;
  }
  batch->files.push_back(std::move(one));
  return Status::Ok();
}

// Copies the file; what is no file is listed at once.
Status OutputKeeper::Stage(const OutputSource& source, const std::string& path, Seen* seen,
                           bool prefix, Batch* batch) {
  if (seen->fact.kind != FileKind::kFile) return Add(path, seen, nullptr, batch);
  SnapshotRequest request;
  (prefix ? request.prefix : request.copy).push_back(seen->fact);
  request.need_task = false;
  request.or_original = true;
  STOKER_ASSIGN(std::unique_ptr<Snapshot> copy, source.files->Take(request));
  if (copy->files().empty()) return Status::Ok();  // gone meanwhile
  return Add(path, seen, std::move(copy), batch);
}

// As long as it was when it was seen: nobody of the job can write to it any more, and strangers do
// not matter. Where there is no room, what was copied before is sent first.
Result<std::unique_ptr<Snapshot>> OutputKeeper::CopyLast(const OutputSource& source,
                                                         const FileFact& fact, Batch* batch) {
  SnapshotRequest request;
  request.prefix = {fact};
  request.need_task = false;
  request.or_original = true;
  auto copy = source.files->Take(request);
  if (copy.ok() && !(*copy)->files().empty()) return copy;
  // This one says why not.
  request.copy.swap(request.prefix);
  copy = source.files->Take(request);
  if (copy.code() == Code::kNoSpace && !batch->files.empty()) {
    (void)Send(batch);  // says itself what failed
    copy = source.files->Take(request);
  }
  return copy;
}

Status OutputKeeper::StageLast(const OutputSource& source, const std::string& path, Seen* seen,
                               Batch* batch) {
  if (seen->fact.kind != FileKind::kFile) return Add(path, seen, nullptr, batch);
  auto copy = CopyLast(source, seen->fact, batch);
  if (copy.status().Is(Code::kNotFound)) return Status::Ok();  // gone meanwhile
  if (!copy.ok()) return copy.status();
  return Add(path, seen, std::move(*copy), batch);
}

Status OutputKeeper::Send(Batch* batch) {
  std::vector<Status> hashed(batch->files.size());
  (void)WorkThrough(config_.movers, batch->files.size(), [&](size_t index) {
    Batch::One& one = batch->files[index];
    if (one.listed.kind == FileKind::kFile) hashed[index] = HashStaged({&one.copy}, {});
    return Status::Ok();  // a file that fails does not keep the others
  });
  std::map<std::string, StagedFile*> files;
  std::map<std::string, Status> failed;
  for (size_t i = 0; i < hashed.size(); ++i) {
    if (!hashed[i].ok()) failed[batch->files[i].path] = hashed[i];
  }
  KeepReplaced(*batch, &failed);
  for (Batch::One& one : batch->files) {
    const bool sent = one.listed.kind == FileKind::kFile && failed.count(one.path) == 0;
    if (sent) files[one.path] = &one.copy;
  }
  const SendPlace place{paths::Artifacts(config_.job), ArtifactPath(config_.rank, ""),
                        [this](const std::string& path) { return Taken(config_.rank, path); }};
  (void)SendNamed(
      store_, config_.movers, place, files, [](StagedFile*) {}, &failed);
  Status status;
  for (Batch::One& one : batch->files) {
    if (const auto bad = failed.find(one.path); bad != failed.end()) {
      if (status.ok()) status = bad->second.WithContext("output '" + Printable(one.path) + "'");
      Failed(one.path, one.seen, bad->second);
      continue;
    }
    one.listed.object = one.copy.object;
    // For want of room it was read where it lies.
    const Status same =
        one.copy.snapshot ? one.copy.snapshot->StillSame(one.copy.index) : Status::Ok();
    if (!same.ok()) {
      if (status.ok()) status = same.WithContext("output '" + Printable(one.path) + "'");
      Failed(one.path, one.seen, same);
      continue;
    }
    one.listed.sha256 = one.copy.sha256;
    const auto kind_of = [](const ManifestFile& file) { return file.kind; };
    for (const auto& old : Superseded(listed_, one.path, one.listed.kind, kind_of)) {
      listed_.erase(old);
    }
    listed_[one.path] = std::move(one.listed);
    left_out_.erase(one.path);
    one.seen->sent = one.fact;
    one.seen->sent_at = clock_.Mono();
    one.seen->ever_sent = true;
    one.seen->refused = false;
    manifest_due_ = true;
    ++uploaded_;
  }
  *batch = {};
  return status;
}

// It was kept, something else took its name, and that is gone now.
bool OutputKeeper::BackAgain(const std::string& path, const FileFact& fact,
                             const std::set<std::string>& there) const {
  if (listed_.count(path) != 0) return false;
  const auto kind_of = [](const ManifestFile& file) { return file.kind; };
  const auto others = Superseded(listed_, path, fact.kind, kind_of);
  return !others.empty() && std::none_of(others.begin(), others.end(), [&](const auto& other) {
    return there.count(other) != 0;
  });
}

Status OutputKeeper::LookAt(const OutputSource& source, bool all, MonoTime deadline) {
  STOKER_ASSIGN(DirectoryScan scan, source.files->Scan());
  const auto whole = [&](const std::string& path) {
    return source.prefix.empty() ? path : source.prefix + "/" + path;
  };
  for (const SkippedEntry& entry : scan.skipped) {
    const std::string path = whole(entry.path);
    if (LeftOut(path)) continue;
    LeaveOut(path, nullptr, std::string(WhySkipped(entry.why)));
    if (entry.why == SkipReason::kUnreadable) unsaved_.insert(path);
  }
  Batch batch;
  std::set<std::string> there;
  for (const FileFact& fact : scan.files) there.insert(whole(fact.path));
  for (const FileFact& fact : scan.files) {
    const MonoTime now = clock_.Mono();
    const std::string path = whole(fact.path);
    if (LeftOut(path)) continue;
    Seen& seen = seen_[path];
    if (!SameFact(seen.fact, fact)) seen.since = now;
    seen.fact = fact;
    const bool known = (seen.ever_sent || seen.refused) && SameFact(seen.sent, fact);
    if (known && !(seen.ever_sent && BackAgain(path, fact, there))) continue;
    if (now >= deadline) {
      waiting_[path] = Status(Code::kTimeout, "there was no time left to save it");
      continue;
    }
    const bool written = scan.written.count(fact.path) != 0 || scan.mapped.count(fact.path) != 0;
    const bool rests = !written && now - seen.since >= config_.quiet;
    const bool due =
        !seen.ever_sent ? now - seen.since >= config_.grow : now - seen.sent_at >= config_.grow;
    if (!all && !rests && !due) continue;
    const Status status =
        all ? StageLast(source, path, &seen, &batch) : Stage(source, path, &seen, !rests, &batch);
    const bool moving = status.Is(Code::kBusy) || status.Is(Code::kConflict);
    if (!status.ok() && moving) waiting_[path] = Status(Code::kBusy, status.message());
    if (!status.ok() && !moving) Failed(path, &seen, status);
    if (!all && moving) waiting_.erase(path);
    if (batch.full()) (void)Send(&batch);
  }
  (void)Send(&batch);
  return Status::Ok();
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
  last_ = all;
  deadline_ = deadline;
  waiting_.clear();
  unsaved_.clear();
  Status first;
  for (const OutputSource& source : sources_) {
    const Status status = LookAt(source, all, deadline);
    if (!status.ok() && first.ok()) first = status;
  }
  const Status listed = WriteManifest();
  if (first.ok()) first = listed;
  if (!first.ok() || waiting_.empty()) return first;
  const auto& [path, why] = *waiting_.begin();
  const std::string more =
      waiting_.size() == 1 ? "" : " and " + std::to_string(waiting_.size() - 1) + " more";
  return why.WithContext("output '" + Printable(path) + "'" + more);
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

void OutputKeeper::GiveUp() {
  for (const auto& [path, why] : waiting_) {
    LeaveOut(path, &seen_[path], why.message());
    unsaved_.insert(path);
  }
  waiting_.clear();
  const Status listed = WriteManifest();
  if (listed.ok()) return;
  // Nobody finds what the list does not name.
  left_out_["(the list of outputs)"] = listed.message();
  for (const auto& [path, file] : listed_) {
    if (file.kind != FileKind::kDirectory) unsaved_.insert(path);
  }
}

}  // namespace stoker
