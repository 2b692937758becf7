// SPDX-License-Identifier: Apache-2.0
#include "port/object_store.h"

#include <algorithm>
#include <utility>

namespace stoker {
namespace {

constexpr int64_t kPiece = 256 << 10;

Status Changed(const std::string& key) {
  return Status(Code::kConflict, key + ": has changed while it was read");
}

// Over one Download; where somebody reads elsewhere, another is opened.
class StreamReader : public ObjectReader {
 public:
  StreamReader(ObjectStore& store, ObjectInfo info) : store_(store), info_(std::move(info)) {}
  const ObjectInfo& info() const override { return info_; }
  bool ranged() const override { return false; }

  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    if (!download_ || offset < at_) {
      STOKER_ASSIGN(download_, store_.OpenDownload(info_.key));
      at_ = 0;
      const ObjectInfo& there = download_->info();
      if (there.size != info_.size || there.version != info_.version) return Changed(info_.key);
    }
    const std::unique_ptr<char[]> buffer(new char[kPiece]);
    const int64_t end = offset + size;
    while (at_ < end) {
      const int64_t want = std::min((at_ < offset ? offset : end) - at_, kPiece);
      STOKER_ASSIGN(const int64_t got, download_->Read(buffer.get(), want));
      if (got == 0) return Status(Code::kCorrupt, info_.key + ": ended too early");
      if (at_ >= offset) STOKER_TRY(take({buffer.get(), static_cast<size_t>(got)}));
      at_ += got;
    }
    return Status::Ok();
  }

  // At the end a download checks what it can.
  Status Confirm(const std::vector<PartSum>&) override {
    if (!download_ || at_ != info_.size) return Status::Ok();
    char byte = 0;
    STOKER_ASSIGN(const int64_t more, download_->Read(&byte, 1));
    return more == 0 ? Status::Ok() : Changed(info_.key);
  }

 private:
  ObjectStore& store_;
  const ObjectInfo info_;
  std::unique_ptr<Download> download_;
  int64_t at_ = 0;
};

Status WriteWhole(Upload& upload, ObjectReader& from) {
  const int64_t size = from.info().size;
  if (from.fd() >= 0) return upload.WriteFile(from.fd(), size);
  return from.Read(0, size, [&](std::string_view bytes) { return upload.Write(bytes); });
}

Result<ObjectInfo> InfoAfter(const std::string& key, int64_t size, Result<Version> version) {
  if (!version.ok()) return version.status();
  return ObjectInfo{key, size, std::move(*version), {}};
}

// All of it is one part of an ordinary upload.
class OnePart : public PartsUpload {
 public:
  OnePart(ObjectStore& store, std::string key, int64_t size, Condition condition)
      : store_(store), key_(std::move(key)), size_(size), condition_(std::move(condition)) {}
  const std::string& id() const override { return id_; }
  int64_t part_size() const override { return std::max<int64_t>(size_, 1); }
  const std::map<int, PartSum>& done() const override { return done_; }
  bool parallel() const override { return false; }
  int64_t memory(const ObjectReader&) const override { return kPiece; }
  Result<PartSum> WritePart(int, ObjectReader& from) override {
    STOKER_ASSIGN(upload_, store_.BeginUpload(key_, condition_));
    STOKER_TRY(WriteWhole(*upload_, from));
    return PartSum{size_, std::nullopt};
  }
  Result<ObjectInfo> Commit() override {
    if (!upload_) return Status(Code::kInvalid, key_ + ": committed without its part");
    const auto upload = std::move(upload_);
    return InfoAfter(key_, size_, upload->Commit());
  }
  void Abort() override { upload_.reset(); }

 private:
  ObjectStore& store_;
  const std::string key_;
  const int64_t size_;
  const Condition condition_;
  const std::string id_;
  const std::map<int, PartSum> done_;
  std::unique_ptr<Upload> upload_;
};

}  // namespace

Result<std::unique_ptr<ObjectReader>> ObjectStore::OpenReader(const ObjectInfo& info) {
  return std::unique_ptr<ObjectReader>(std::make_unique<StreamReader>(*this, info));
}

Result<ObjectInfo> ObjectStore::PutFrom(const std::string& key, ObjectReader& from,
                                        const Condition& condition) {
  STOKER_ASSIGN(const std::unique_ptr<Upload> upload, BeginUpload(key, condition));
  STOKER_TRY(WriteWhole(*upload, from));
  STOKER_TRY(from.Confirm({{from.info().size, std::nullopt}}));
  return InfoAfter(key, from.info().size, upload->Commit());
}

Result<std::unique_ptr<PartsUpload>> ObjectStore::BeginParts(const std::string& key, int64_t size,
                                                             const Condition& condition,
                                                             const std::string& resume,
                                                             bool executable) {
  (void)executable;
  (void)resume;  // what BeginUpload began, nobody else can go on with
  return std::unique_ptr<PartsUpload>(std::make_unique<OnePart>(*this, key, size, condition));
}

std::vector<OddKey> ObjectStore::DeleteAll(const std::vector<std::string>& keys) {
  std::vector<OddKey> failed;
  Status away;
  for (const std::string& key : keys) {
    const Status status = away.ok() ? Delete(key) : away;
    if (status.transient()) away = status;
    if (!status.ok()) failed.push_back({key, status});
  }
  return failed;
}

Result<std::vector<std::string>> ObjectStore::ListKeys(const std::string& prefix) {
  std::vector<std::string> keys;
  STOKER_TRY(ListAll(*this, prefix, [&](const ObjectInfo& object) {
    keys.push_back(object.key);
    return Status::Ok();
  }));
  return keys;
}

Status ListAll(ObjectStore& store, const std::string& prefix,
               const std::function<Status(const ObjectInfo&)>& each) {
  // A folder is read and sorted whole for each page: large ones are few. A bucket gives what it
  // has.
  constexpr int kPage = 10'000;
  std::string after;
  do {
    STOKER_ASSIGN(const Listing page, store.List(prefix, after, kPage));
    for (const ObjectInfo& object : page.objects) STOKER_TRY(each(object));
    after = page.next;
  } while (!after.empty());
  return Status::Ok();
}

}  // namespace stoker
