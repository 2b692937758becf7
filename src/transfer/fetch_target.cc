// SPDX-License-Identifier: Apache-2.0
#include "transfer/fetch_target.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/deliberate_bug.h"
#include "base/digest.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr int64_t kRange = 16 << 20;
constexpr int64_t kHashPiece = 1 << 20;

// What is missing says something about the checkpoint, and nothing about the directory.
Status ReadFrom(ObjectReader& from, const WantedFile& file, int64_t offset, int64_t size,
                const TakeBytes& take) {
  if (size == 0) return Status::Ok();  // that it is there, the look-up has seen
  const Status status = from.Read(offset, size, take);
  return status.Is(Code::kNotFound) ? MissingFile(file) : status;
}

Status CheckHash(const WantedFile& file, Sha256& hash) {
  if (hash.Hex() == file.sha256 || BugIsOn("hash-unchecked")) return Status::Ok();
  return DamagedFile(file, "hash");
}

// One file that comes in ranges, by several workers where the directory takes them in any order.
// Its hash follows what has come without a gap: whoever has written a range reads back and hashes
// what is due, unless another worker does so already.
class Ranges : public PartsUpload {
 public:
  Ranges(std::unique_ptr<NewFile> target, const WantedFile& file, std::string key,
         std::mutex& names, std::set<std::string>& done)
      : target_(std::move(target)),
        file_(file),
        key_(std::move(key)),
        names_(names),
        finished_(done) {}
  const std::string& id() const override { return id_; }
  int64_t part_size() const override { return kRange; }
  const std::map<int, PartSum>& done() const override { return done_; }
  bool parallel() const override { return target_->ranged(); }
  int64_t memory(const ObjectReader&) const override { return 2 * kHashPiece; }

  Result<PartSum> WritePart(int n, ObjectReader& from) override {
    const int64_t offset = n * kRange;
    const int64_t size = std::min(kRange, file_.size - offset);
    if (!target_->ranged()) return InOrder(offset, size, from);
    int64_t at = offset;
    STOKER_TRY(ReadFrom(from, file_, offset, size, [&](std::string_view bytes) {
      const int64_t here = at;
      at += static_cast<int64_t>(bytes.size());
      return target_->WriteAt(here, bytes);
    }));
    {
      const std::lock_guard lock(mutex_);
      written_.insert(n);
    }
    std::unique_lock turn(hashing_, std::try_to_lock);
    if (turn.owns_lock()) STOKER_TRY(HashWhatIsDue());
    return PartSum{size, std::nullopt};
  }

  Result<ObjectInfo> Commit() override {
    {
      const std::lock_guard turn(hashing_);
      STOKER_TRY(HashWhatIsDue());
    }
    if (hashed_ != file_.size) {
      return Status(Code::kInternal, "'" + Printable(NameOf(file_)) + "': a part is missing");
    }
    STOKER_TRY(CheckHash(file_, hash_));
    const std::lock_guard lock(names_);
    STOKER_TRY(OfDirectory(target_->Commit(file_.mode, file_.mtime_ns)));
    finished_.insert(key_);
    return ObjectInfo{key_, file_.size, "", {}};
  }
  void Abort() override {
    const std::lock_guard lock(names_);
    target_.reset();
  }

 private:
  Result<PartSum> InOrder(int64_t offset, int64_t size, ObjectReader& from) {
    if (offset != hashed_) {
      return Status(Code::kInternal, "'" + Printable(NameOf(file_)) + "': parts out of order");
    }
    STOKER_TRY(ReadFrom(from, file_, offset, size, [&](std::string_view bytes) {
      hash_.Update(bytes);
      hashed_ += static_cast<int64_t>(bytes.size());
      return target_->Write(bytes);
    }));
    return PartSum{size, std::nullopt};
  }

  // To where there is no gap before it.
  int64_t Whole() {
    const std::lock_guard lock(mutex_);
    while (!written_.empty() && *written_.begin() == gapless_) {
      written_.erase(written_.begin());
      ++gapless_;
    }
    return std::min(gapless_ * kRange, file_.size);
  }

  // By whoever has `hashing_`.
  Status HashWhatIsDue() {
    if (!target_->ranged()) return Status::Ok();
    const std::unique_ptr<char[]> buffer(new char[kHashPiece]);
    for (int64_t end = Whole(); hashed_ < end; end = Whole()) {
      const int64_t want = std::min(kHashPiece, end - hashed_);
      STOKER_ASSIGN(const int64_t got, target_->ReadAt(hashed_, buffer.get(), want));
      if (got <= 0) {
        return Status(Code::kInternal, "'" + Printable(NameOf(file_)) + "': was cut while it came");
      }
      hash_.Update({buffer.get(), static_cast<size_t>(got)});
      hashed_ += got;
    }
    return Status::Ok();
  }

  std::unique_ptr<NewFile> target_;
  const WantedFile& file_;
  const std::string key_;
  std::mutex& names_;                // of the directory, and of the next
  std::set<std::string>& finished_;  // files
  const std::string id_;
  const std::map<int, PartSum> done_;
  std::mutex mutex_;       // of the next two
  std::set<int> written_;  // from gapless_ on
  int64_t gapless_ = 0;    // parts
  std::mutex hashing_;     // of the next two
  int64_t hashed_ = 0;     // bytes
  Sha256 hash_;
};

}  // namespace

Status MissingFile(const WantedFile& file) {
  return Status(Code::kCorrupt, "'" + Printable(NameOf(file)) + "' is missing in the store");
}

Status OfDirectory(const Status& status) {
  if (!status.Is(Code::kNotFound)) return status;
  return Status(Code::kUnavailable, status.message() + ": it was removed while it was restored",
                status.next());
}

Status DamagedFile(const WantedFile& file, const std::string& what) {
  return Status(Code::kCorrupt, "'" + Printable(NameOf(file)) +
                                    "' in the store is not what was written: its " + what +
                                    " differs");
}

int64_t FetchTarget::whole_bytes() const { return kRange; }
int64_t FetchTarget::memory(const ObjectReader&) const { return kHashPiece; }

Result<std::unique_ptr<NewFile>> FetchTarget::Create(const std::string& key) {
  const std::lock_guard lock(mutex_);
  auto made = into_.Create(key);
  if (made.ok()) return made;
  return OfDirectory(made.status());
}

Result<ObjectInfo> FetchTarget::PutFrom(const std::string& key, ObjectReader& from) {
  const WantedFile& file = files_.at(key);
  STOKER_ASSIGN(const std::unique_ptr<NewFile> target, Create(key));
  Sha256 hash;
  STOKER_TRY(ReadFrom(from, file, 0, file.size, [&](std::string_view bytes) {
    hash.Update(bytes);
    return target->Write(bytes);
  }));
  STOKER_TRY(from.Confirm({{file.size, std::nullopt}}));
  STOKER_TRY(CheckHash(file, hash));
  const std::lock_guard lock(mutex_);
  STOKER_TRY(OfDirectory(target->Commit(file.mode, file.mtime_ns)));
  done_.insert(key);
  return ObjectInfo{key, file.size, "", {}};
}

Result<std::unique_ptr<PartsUpload>> FetchTarget::BeginParts(const std::string& key,
                                                             const ObjectInfo&,
                                                             const std::string&) {
  STOKER_ASSIGN(std::unique_ptr<NewFile> target, Create(key));
  return std::unique_ptr<PartsUpload>(
      std::make_unique<Ranges>(std::move(target), files_.at(key), key, mutex_, done_));
}

}  // namespace stoker
