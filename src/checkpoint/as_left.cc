// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/as_left.h"

#include <algorithm>
#include <climits>
#include <functional>
#include <iterator>
#include <memory>
#include <set>

#include "base/text.h"
#include "checkpoint/manifest.h"
#include "checkpoint/moment.h"
#include "checkpoint/rule/checkpoint_plan.h"
#include "job/checkpoint_name.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

// Copied, sent and let go of together: neither room nor descriptors are needed for more.
constexpr size_t kFilesAtOnce = 1024;
constexpr int64_t kBytesAtOnce = int64_t{256} << 20;
// A copy that somebody writes into is tried so often.
constexpr int kLeftTries = 5;
constexpr Duration kLeftPatience = Duration::Seconds(10);
constexpr Duration kFirstPause = Duration::Ms(200);
constexpr Duration kLongestPause = Duration::Seconds(5);
// How long the other nodes are given to say whether they have written.
constexpr Duration kPeerPatience = Duration::Seconds(10);

std::string Root(const std::string& job) { return paths::Checkpoints(job) + "as-left/"; }

std::string MarkKey(const std::string& job, int attempt, int rank) {
  return Root(job) + "nodes/" + std::to_string(attempt) + "-" + std::to_string(rank) + ".json";
}

std::string DataOf(int attempt) { return "as-left/data/" + std::to_string(attempt) + "-"; }

// Read only until a deadline: an upload that takes longer fails there.
class BoundedSnapshot : public Snapshot {
 public:
  BoundedSnapshot(std::unique_ptr<Snapshot> copy, std::function<bool()> over)
      : copy_(std::move(copy)), over_(std::move(over)) {}
  const std::vector<FileFact>& files() const override { return copy_->files(); }
  Result<int64_t> Read(size_t index, int64_t offset, char* buffer, int64_t size) override {
    if (over_()) return Status(Code::kTimeout, "there was no time for all of it");
    return copy_->Read(index, offset, buffer, size);
  }
  int Descriptor(size_t) override { return -1; }
  bool copied(size_t index) const override { return copy_->copied(index); }
  Status StillSame(size_t index) override { return copy_->StillSame(index); }

 private:
  const std::unique_ptr<Snapshot> copy_;
  const std::function<bool()> over_;
};

// Whose "of-nodes/000002-1.json" or "data/2-1-nonce/…" it is.
std::optional<LeftOfNode> LeftOfKey(const std::string& name) {
  const size_t folder = name.find('/');
  const std::string_view of = std::string_view(name).substr(0, folder);
  if (of != "of-nodes" && of != "data") return std::nullopt;
  const std::string rest = name.substr(folder + 1);
  const size_t dash = rest.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const size_t end = rest.find_first_of("-.", dash + 1);
  const size_t zeros = std::min(rest.find_first_not_of('0'), dash);
  const auto attempt = WholeNumber(rest.substr(zeros, dash - zeros), 1, INT_MAX);
  const auto rank = WholeNumber(rest.substr(dash + 1, end - dash - 1), 0, INT_MAX);
  if (!attempt || !rank) return std::nullopt;
  return LeftOfNode{static_cast<int>(*attempt), static_cast<int>(*rank)};
}

Result<std::vector<LeftOfNode>> LeftByNodes(ObjectStore& store, const std::string& job) {
  std::vector<LeftOfNode> out;
  STOKER_TRY(ListAll(store, Root(job) + "of-nodes/", [&](const ObjectInfo& info) {
    const auto left = LeftOfKey(info.key.substr(Root(job).size()));
    if (left && IsCommitted(info)) out.push_back(*left);
    return Status::Ok();
  }));
  return out;
}

class Keep {
 public:
  Keep(const AsLeftConfig& config, ObjectStore& store, Clock& clock, CheckpointFiles& files,
       MonoTime deadline)
      : config_(config), store_(store), clock_(clock), files_(files), deadline_(deadline) {
    part_.rank = config.rank;
    folder_ = DataOf(config.attempt) + std::to_string(config.rank) + "-" + config.nonce + "/";
  }

  Result<AsLeftKept> Run() {
    if (config_.num_nodes > 1) STOKER_TRY(Insist([&] { return Mark(); }));
    if (!config_.unkept) return AsLeftKept();
    if (config_.num_nodes > 1) {
      const Status alone = AloneWrote();
      if (!alone.ok() && !alone.Is(Code::kConflict)) return alone;
      kept_.beside = alone.message();
    }
    STOKER_ASSIGN(const DirectoryScan scan, files_.Scan());
    for (const SkippedEntry& entry : scan.skipped) {
      kept_.left_out.push_back("'" + Printable(entry.path) +
                               "': " + std::string(WhySkipped(entry.why)));
    }
    std::vector<FileFact> batch;
    int64_t bytes = 0;
    for (const FileFact& fact : scan.files) {
      if (fact.path == kDoneMark || !CanBeKept(fact)) continue;
      if (fact.kind != FileKind::kFile) {
        AddEntry(fact);
        continue;
      }
      if (!batch.empty() && (batch.size() >= kFilesAtOnce || bytes + fact.size > kBytesAtOnce)) {
        STOKER_TRY(Send(batch));
        batch.clear();
        bytes = 0;
      }
      batch.push_back(fact);
      bytes += fact.size;
    }
    if (!batch.empty()) STOKER_TRY(Send(batch));
    if (kept_.files == 0) return AsLeftKept();
    STOKER_TRY(Insist([&] { return Commit(); }));
    kept_.id = Name();
    // What is not cleared away now is cleared away by the next one, or with the job.
    (void)ClearAway();
    return kept_;
  }

 private:
  LeftOfNode OfNode() const { return {config_.attempt, config_.rank}; }
  std::string Name() const {
    return kept_.beside.empty() ? AsLeftName(config_.attempt) : LeftOfNodeName(OfNode());
  }

  bool CanBeKept(const FileFact& fact) {
    const std::string why = WhyNotKept(config_.job, fact.path);
    if (!why.empty()) kept_.left_out.push_back("'" + Printable(fact.path) + "': " + why);
    return why.empty();
  }

  void AddEntry(const FileFact& fact) {
    ManifestFile file;
    file.path = fact.path;
    file.kind = fact.kind;
    file.mode = fact.mode;
    file.ctime_ns = fact.ctime_ns;
    file.target = fact.target;
    part_.files.push_back(std::move(file));
  }

  bool Over() const { return clock_.Mono() >= deadline_ || (config_.give_up && config_.give_up()); }

  // Until it works, fails for good, or the time is over.
  Status Insist(const std::function<Status()>& call) {
    for (Duration wait = kFirstPause;; wait = std::min(kLongestPause, wait * 2)) {
      const Status status = call();
      if (status.ok() || !status.transient()) return status;
      if (clock_.Mono() + wait >= deadline_ || Over()) return status;
      config_.pause(wait);
    }
  }

  // Tells the other nodes whether this one has written.
  Status Mark() {
    Part mark;
    mark.rank = config_.rank;
    mark.none = !config_.wrote;
    return store_.Put(MarkKey(config_.job, config_.attempt, config_.rank), EncodePart(mark))
        .status();
  }

  Status AloneWrote() {
    const MonoTime until = std::min(deadline_, clock_.Mono() + kPeerPatience);
    for (int rank = 0; rank < config_.num_nodes; ++rank) {
      while (rank != config_.rank) {
        const auto mark = store_.Get(MarkKey(config_.job, config_.attempt, rank));
        if (mark.ok()) {
          STOKER_ASSIGN(const Part part, DecodePart(mark->data));
          if (part.none) break;
          return Status(Code::kConflict,
                        "several nodes write checkpoints, and what they left is "
                        "not of one moment");
        }
        if (!mark.status().Is(Code::kNotFound) && !mark.status().transient()) return mark.status();
        if (clock_.Mono() >= until || Over()) {
          return Status(Code::kConflict, "node " + std::to_string(rank) +
                                             " has not said whether it writes checkpoints, too");
        }
        config_.pause(kFirstPause);
      }
    }
    return Status::Ok();
  }

  Result<std::unique_ptr<Snapshot>> Copy(const std::vector<FileFact>& batch) {
    SnapshotRequest request;
    request.copy = batch;
    request.patience = kLeftPatience;
    request.even_if_open = true;
    request.need_task = false;
    request.or_original = true;  // nobody writes any more: a disk that is full is no obstacle
    for (int tries = 1;; ++tries) {
      auto copy = files_.Take(request);
      if (copy.ok() || tries == kLeftTries || Over()) return copy;
      if (!copy.status().Is(Code::kBusy) && !copy.status().Is(Code::kConflict)) return copy;
      config_.pause(kFirstPause);
    }
  }

  Status Send(const std::vector<FileFact>& batch) {
    if (Over()) {
      return Status(Code::kTimeout, "there was no time for all of it");
    }
    auto copy = Copy(batch);
    if (!copy.ok()) return copy.status();
    const auto held =
        std::make_shared<BoundedSnapshot>(std::move(*copy), [this] { return Over(); });
    Moment moment;
    for (size_t i = 0; i < held->files().size(); ++i) {
      auto file = std::make_shared<StagedFile>();
      file->fact = held->files()[i];
      file->snapshot = held;
      file->index = i;
      if (!held->copied(i)) file->original = held;
      kept_.bytes += file->fact.size;
      moment.files[file->fact.path] = std::move(file);
    }
    kept_.files += static_cast<int>(moment.files.size());
    STOKER_TRY(Insist([&] {
      return UploadMoment(store_, config_.movers, config_.job, folder_, {}, false, &moment);
    }));
    STOKER_TRY(OriginalsSame(moment));
    for (ManifestFile& file : PartOf(moment, config_.rank).files) {
      part_.files.push_back(std::move(file));
    }
    return Status::Ok();
  }

  Status Commit() {
    if (config_.may_commit) {
      STOKER_ASSIGN(const bool may, config_.may_commit());
      if (!may) return Status(Code::kConflict, "the attempt is over already");
    }
    Manifest manifest;
    manifest.job = config_.job;
    manifest.id = {config_.attempt, 0};
    manifest.created = clock_.Wall();
    manifest.writer = config_.nonce;
    manifest.reason = std::string(kAsLeft);
    manifest.bytes = kept_.bytes;
    std::sort(part_.files.begin(), part_.files.end(),
              [](const ManifestFile& a, const ManifestFile& b) { return a.path < b.path; });
    manifest.parts.push_back(part_);
    manifest.step = StepOf(manifest.parts);
    const std::string key = kept_.beside.empty() ? AsLeftKey(config_.job, config_.attempt)
                                                 : LeftOfNodeKey(config_.job, OfNode());
    const auto put = store_.Put(key, EncodeManifest(manifest), Condition::Absent());
    if (put.ok()) return Status::Ok();
    if (!put.status().Is(Code::kExists) && !put.status().Is(Code::kConflict)) return put.status();
    // Ours, when the answer to an earlier try was lost.
    const auto there = LoadManifest(store_, config_.job, Name());
    if (there.ok() && there->writer == config_.nonce) return Status::Ok();
    if (there.status().transient()) return there.status();
    return Status(Code::kConflict, "the attempt is over already");
  }

  // The two newest attempts that left something, this one and the one before: should the program
  // fail on this one, that is next.
  std::set<int> Newest(const std::vector<CheckpointInfo>& all,
                       const std::vector<LeftOfNode>& of_nodes) const {
    std::set<int, std::greater<>> attempts = {config_.attempt};
    for (const CheckpointInfo& info : all) {
      if (info.whole) attempts.insert(info.attempt);
    }
    for (const LeftOfNode& left : of_nodes) attempts.insert(left.attempt);
    const auto end = attempts.size() > 2 ? std::next(attempts.begin(), 2) : attempts.end();
    return std::set<int>(attempts.begin(), end);
  }

  Status ClearAway() {
    STOKER_ASSIGN(const std::vector<CheckpointInfo> all, ListAsLeft(store_, config_.job));
    STOKER_ASSIGN(const std::vector<LeftOfNode> of_nodes, LeftByNodes(store_, config_.job));
    const std::set<int> kept = Newest(all, of_nodes);
    std::vector<std::string> old;
    for (const CheckpointInfo& info : all) {
      if (kept.count(info.attempt) == 0) old.push_back(AsLeftKey(config_.job, info.attempt));
    }
    for (const LeftOfNode& left : of_nodes) {
      const bool tried = kept_.beside.empty() && left.attempt == config_.attempt &&
                         left.rank == config_.rank;  // before it was heard that no other wrote
      if (tried || kept.count(left.attempt) == 0) old.push_back(LeftOfNodeKey(config_.job, left));
    }
    for (const std::string& key : old) STOKER_TRY(store_.Delete(key));
    old.clear();
    STOKER_TRY(ListAll(store_, Root(config_.job) + "data/", [&](const ObjectInfo& info) {
      const auto left = LeftOfKey(info.key.substr(Root(config_.job).size()));
      if (!left) return Status::Ok();  // not ours to judge
      const bool tried = left->attempt == config_.attempt && left->rank == config_.rank &&
                         !StartsWith(info.key, paths::Checkpoints(config_.job) + folder_);
      if (tried || kept.count(left->attempt) == 0) old.push_back(info.key);
      return Status::Ok();
    }));
    for (const std::string& key : old) STOKER_TRY(store_.Delete(key));
    return Status::Ok();
  }

  const AsLeftConfig& config_;
  ObjectStore& store_;
  Clock& clock_;
  CheckpointFiles& files_;
  const MonoTime deadline_;
  std::string folder_;
  Part part_;
  AsLeftKept kept_;
};

}  // namespace

Result<AsLeftKept> KeepAsLeft(const AsLeftConfig& config, ObjectStore& store, Clock& clock,
                              CheckpointFiles& files, MonoTime deadline) {
  return Keep(config, store, clock, files, deadline).Run();
}

Result<std::vector<CheckpointInfo>> ListAsLeft(ObjectStore& store, const std::string& job) {
  std::set<int, std::greater<>> attempts;
  STOKER_TRY(ListAll(store, Root(job) + "manifests/", [&](const ObjectInfo& info) {
    const int attempt = AttemptOfAsLeftKey(info.key);
    if (attempt > 0 && IsCommitted(info)) attempts.insert(attempt);
    return Status::Ok();
  }));
  std::vector<CheckpointInfo> out;
  for (const int attempt : attempts) {
    STOKER_ASSIGN(CheckpointInfo info, InspectCheckpoint(store, job, AsLeftName(attempt)));
    out.push_back(std::move(info));
  }
  return out;
}

Result<std::vector<CheckpointInfo>> ListLeftOfNodes(ObjectStore& store, const std::string& job) {
  STOKER_ASSIGN(const std::vector<LeftOfNode> left, LeftByNodes(store, job));
  std::vector<CheckpointInfo> out;
  for (const LeftOfNode& one : left) {
    STOKER_ASSIGN(CheckpointInfo info, InspectCheckpoint(store, job, LeftOfNodeName(one)));
    out.push_back(std::move(info));
  }
  return out;
}

std::string LeftOfNodeKey(const std::string& job, const LeftOfNode& left) {
  return Root(job) + "of-nodes/" + Padded(left.attempt, 6) + "-" + std::to_string(left.rank) +
         ".json";
}

std::string AsLeftKey(const std::string& job, int attempt) {
  return Root(job) + "manifests/" + Padded(attempt, 6) + ".json";
}

int AttemptOfAsLeftKey(const std::string& key) {
  const std::string middle = "/checkpoints/as-left/manifests/";
  const size_t at = key.find(middle);
  if (at == std::string::npos) return 0;
  const std::string name = key.substr(at + middle.size());
  const auto attempt = WholeNumber(name.substr(0, name.find('.')), 1, INT_MAX);
  return attempt && name == Padded(*attempt, 6) + ".json" ? static_cast<int>(*attempt) : 0;
}

Status SealAsLeft(ObjectStore& store, const std::string& job, int attempt) {
  STOKER_ASSIGN(const Listing begun, store.List(paths::Checkpoints(job) + DataOf(attempt), "", 1));
  if (begun.objects.empty()) return Status::Ok();
  const auto put = store.Put(AsLeftKey(job, attempt), "", Condition::Absent());
  return put.ok() || put.status().Is(Code::kExists) ? Status::Ok() : put.status();
}

}  // namespace stoker
