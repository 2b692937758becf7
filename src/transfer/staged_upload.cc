// SPDX-License-Identifier: Apache-2.0
#include "transfer/staged_upload.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/deliberate_bug.h"
#include "base/digest.h"
#include "base/text.h"
#include "transfer/named_upload.h"
#include "transfer/object_name.h"
#include "transfer/store_side.h"

namespace stoker {
namespace {

constexpr int64_t kStagedPiece = 1 << 20;
// To settle is to wait for all that anybody writes to that disk: worth it for many files. What has
// not settled keeps its copy, up to so many bytes.
constexpr size_t kManyFiles = 256;
constexpr int64_t kUnsettled = 64 << 20;

// [offset, offset + size) of a copy, in pieces.
Status ReadCopy(const StagedFile& file, int64_t offset, int64_t size, const TakeBytes& take) {
  const int64_t piece = std::min(kStagedPiece, std::max<int64_t>(size, 1));
  const std::unique_ptr<char[]> buffer(new char[static_cast<size_t>(piece)]);
  for (int64_t at = offset; at < offset + size;) {
    const int64_t wanted = std::min(piece, offset + size - at);
    STOKER_ASSIGN(const int64_t got, file.snapshot->Read(file.index, at, buffer.get(), wanted));
    if (got <= 0) {
      return Status(Code::kCorrupt, "the copy of '" + Printable(file.fact.path) + "' is short");
    }
    STOKER_TRY(take({buffer.get(), static_cast<size_t>(got)}));
    at += got;
  }
  return Status::Ok();
}

class CopyReader : public ObjectReader {
 public:
  // `file` is one that keeps the copy while this reads, whatever becomes of the other.
  CopyReader(StagedFile file, ObjectInfo info)
      : file_(std::move(file)),
        info_(std::move(info)),
        fd_(file_.snapshot->Descriptor(file_.index)) {}
  const ObjectInfo& info() const override { return info_; }
  // Without a descriptor the copy is read by one at a time.
  bool ranged() const override { return fd_ >= 0; }
  int fd() const override { return fd_; }
  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    return ReadCopy(file_, offset, size, take);
  }
  // Nobody else can write to a copy; only its length can be told from here.
  Status Confirm(const std::vector<PartSum>&) override {
    char byte = 0;
    const int64_t size = info_.size;
    if (size > 0) STOKER_TRY(ReadCopy(file_, size - 1, 1, [](auto) { return Status::Ok(); }));
    STOKER_ASSIGN(const int64_t more, file_.snapshot->Read(file_.index, size, &byte, 1));
    if (more == 0) return Status::Ok();
    return Status(Code::kCorrupt, "the copy of '" + Printable(file_.fact.path) + "' has grown");
  }

 private:
  const StagedFile file_;
  const ObjectInfo info_;
  const int fd_;
};

class Copies : public TransferSource {
 public:
  explicit Copies(const std::map<std::string, StagedFile*>& files) : files_(files) {}
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override {
    return std::unique_ptr<ObjectReader>(std::make_unique<CopyReader>(*files_.at(info.key), info));
  }

 private:
  const std::map<std::string, StagedFile*>& files_;
};

class CopyTarget : public StoreSide {
 public:
  CopyTarget(ObjectStore& store, bool settles)
      : StoreSide(store), store_(store), settles_(settles) {}
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from) override {
    auto put = settles_ ? store_.PutUnsettled(key, from) : StoreSide::PutFrom(key, from);
    const bool lost = put.code() == Code::kTimeout && BugIsOn("lost-answer-is-success");
    return lost ? Result<ObjectInfo>(ObjectInfo{key, from.info().size, "", {}}) : std::move(put);
  }

 private:
  ObjectStore& store_;
  const bool settles_;
};

// Copies have no names: whoever comes after this process has nothing to go on with. Those that are
// small enough to be sent unsettled are sent once the store has settled.
class SentCopies : public TransferMemory {
 public:
  // `settles`: null where each that arrived is there to stay. `small`: bytes.
  SentCopies(const std::map<std::string, StagedFile*>& files, ObjectStore* settles, int64_t small,
             const std::function<void(StagedFile* file)>& sent)
      : files_(files), settles_(settles), small_(small), sent_(sent) {}
  std::string Begun(const std::string&, const Version&) const override { return ""; }
  Status NoteBegun(const std::string&, const Version&, const std::string&) override {
    return Status::Ok();
  }
  Status NoteSame(const std::string& key, const Version&, const Version&) override {
    StagedFile* const file = files_.at(key);
    if (settles_ == nullptr || file->fact.size > small_) {
      sent_(file);
      return Status::Ok();
    }
    std::vector<std::string> due;
    {
      const std::lock_guard lock(mutex_);
      arrived_.push_back(key);
      bytes_ += file->fact.size;
      if (bytes_ < kUnsettled) return Status::Ok();
      due = std::exchange(arrived_, {});
      bytes_ = 0;
    }
    Settle(due);
    return Status::Ok();
  }
  bool lasts() const override { return false; }

  // After the last: adds to `report` what arrived and did not settle.
  void SettleRest(TransferReport* report) {
    if (!arrived_.empty()) Settle(std::exchange(arrived_, {}));
    report->failed.insert(report->failed.end(), failed_.begin(), failed_.end());
  }

 private:
  void Settle(const std::vector<std::string>& keys) {
    const Status settled = settles_->Settle();
    for (const std::string& key : keys) {
      if (settled.ok()) {
        sent_(files_.at(key));
        continue;
      }
      const std::lock_guard lock(mutex_);
      failed_.push_back({key, settled});
    }
  }

  const std::map<std::string, StagedFile*>& files_;
  ObjectStore* const settles_;
  const int64_t small_;
  const std::function<void(StagedFile* file)>& sent_;
  std::mutex mutex_;
  std::vector<std::string> arrived_;  // keys
  int64_t bytes_ = 0;                 // of those
  std::vector<OddKey> failed_;
};

}  // namespace

Status HashStaged(const std::vector<StagedFile*>& files, const Movers& movers) {
  return WorkThrough(movers, files.size(), [&](size_t index) -> Status {
    StagedFile& file = *files[index];
    if (!file.sha256.empty()) return Status::Ok();
    Sha256 hash;
    STOKER_TRY(ReadCopy(file, 0, file.fact.size, [&](std::string_view piece) {
      hash.Update(piece);
      return Status::Ok();
    }));
    file.sha256 = hash.Hex();
    return Status::Ok();
  });
}

namespace {

TransferReport SendAll(ObjectStore& store, const Movers& movers,
                       const std::map<std::string, StagedFile*>& files,
                       const std::function<void(StagedFile* file)>& sent) {
  const bool settles = store.traits().settles && files.size() >= kManyFiles;
  Copies source(files);
  CopyTarget target(store, settles);
  SentCopies memory(files, settles ? &store : nullptr, target.whole_bytes(), sent);
  std::vector<ObjectInfo> all;
  for (const auto& [key, file] : files) all.push_back({key, file->fact.size, "", {}});
  SortLargeFirst(&all);
  TransferReport report = MoveFiles(source, target, memory, movers, all);
  memory.SettleRest(&report);
  return report;
}

}  // namespace

Status SendStaged(ObjectStore& store, const Movers& movers,
                  const std::map<std::string, StagedFile*>& files,
                  const std::function<void(StagedFile* file)>& sent) {
  const TransferReport report = SendAll(store, movers, files, sent);
  if (report.failed.empty()) return Status::Ok();
  const OddKey& failed = report.failed.front();
  return failed.why.WithContext("cannot upload '" + Printable(files.at(failed.key)->fact.path) +
                                "'");
}

bool RefusesName(const Status& status) {
  return status.Is(Code::kInvalid) || status.Is(Code::kExists) || status.Is(Code::kConflict);
}

Status SendNamed(ObjectStore& store, const Movers& movers, const SendPlace& place,
                 const std::map<std::string, StagedFile*>& files,
                 const std::function<void(StagedFile* file)>& sent,
                 std::map<std::string, Status>* failed) {
  struct Way {
    std::string path;
    std::string name;  // below the folder
    bool over = false;
  };
  const std::string before = place.root + place.folder;
  std::map<const StagedFile*, Way> ways;  // each worker has its own to mark
  for (const auto& [path, file] : files) {
    const bool taken = place.taken && place.taken(path);
    ways[file] = {path, taken ? OddObject(path) : ObjectOf(path, before.size())};
  }
  Status first;
  for (bool again = true; again;) {
    std::map<std::string, StagedFile*> due;
    for (const auto& [path, file] : files) {
      if (!ways.at(file).over) due[before + ways.at(file).name] = file;
    }
    const auto arrived = [&](StagedFile* file) {
      Way& way = ways.at(file);
      way.over = true;
      file->object = place.folder + way.name;
      sent(file);
    };
    const TransferReport report = SendAll(store, movers, due, arrived);
    again = false;
    for (const OddKey& each : report.failed) {
      Way& way = ways.at(due.at(each.key));
      if (RefusesName(each.why) && way.name != OddObject(way.path)) {
        way.name = OddObject(way.path);
        again = true;
        continue;
      }
      way.over = true;
      if (first.ok()) {
        first = each.why.WithContext("cannot upload '" + Printable(way.path) + "'");
      }
      if (failed != nullptr) (*failed)[way.path] = each.why;
    }
    if (!first.ok() && movers.options.all_or_nothing) return first;
  }
  return first;
}

}  // namespace stoker
