// SPDX-License-Identifier: Apache-2.0
// Objects that go up and down in pieces.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sim/bucket/bucket.h"

namespace stoker::sim {

// One object on its way up. Its bytes take their time as they are written; what is written is one
// request, at Commit.
class BucketUpload : public Upload {
 public:
  BucketUpload(BucketClient& client, std::string key, Condition condition)
      : client_(client), key_(std::move(key)), condition_(std::move(condition)) {}

  Status Write(std::string_view bytes) override {
    if (lost_ || client_.Dead()) return BucketClient::Lost();
    client_.Count(&BucketCounts::bytes_up, static_cast<int64_t>(bytes.size()));
    if (client_.scheduler_.current() != nullptr) {
      client_.Carry(static_cast<int64_t>(bytes.size()), &unpaid_);
      const auto torn = static_cast<uint64_t>(client_.bucket_.faults.torn);
      lost_ = client_.Cut() || (torn > 0 && client_.prng_.Chance(torn, 1000));
      if (lost_) return BucketClient::Lost();
    }
    data_.append(bytes);
    return Status::Ok();
  }

  Status WriteFile(int fd, int64_t size) override {
    constexpr int64_t kPiece = 64 << 10;
    const std::unique_ptr<char[]> buffer(new char[kPiece]);
    for (int64_t at = 0; at < size;) {
      const ssize_t got =
          pread(fd, buffer.get(), static_cast<size_t>(std::min(kPiece, size - at)), at);
      if (got <= 0) return Status(Code::kInvalid, key_ + ": the file is shorter than was said");
      STOKER_TRY(Write({buffer.get(), static_cast<size_t>(got)}));
      at += got;
    }
    return Status::Ok();
  }

  Result<Version> Commit() override {
    if (lost_) return BucketClient::Lost();
    lost_ = true;  // once only
    auto data = std::make_shared<const std::string>(std::move(data_));
    return client_.Write(key_, std::move(data), condition_, 0);
  }

 private:
  BucketClient& client_;
  const std::string key_;
  const Condition condition_;
  std::string data_;
  int64_t unpaid_ = 0;  // bytes whose time has not passed yet
  bool lost_ = false;
};

// One version of one object on its way down.
class BucketDownload : public Download {
 public:
  BucketDownload(BucketClient& client, Bucket::Entry entry, int64_t torn_at)
      : client_(client), entry_(std::move(entry)), torn_at_(torn_at) {}

  const ObjectInfo& info() const override { return entry_.info; }

  Result<int64_t> Read(char* buffer, int64_t size) override {
    constexpr int64_t kPiece = 64 << 10;
    if (client_.Dead()) return BucketClient::Lost();
    int64_t count = std::min({size, kPiece, entry_.info.size - at_});
    if (torn_at_ >= 0) count = std::min(count, torn_at_ - at_);
    if (client_.scheduler_.current() != nullptr) {
      client_.Carry(count, &unpaid_);
      if (at_ < entry_.info.size && client_.Cut()) return BucketClient::Lost();
    }
    if (torn_at_ >= 0 && count <= 0) return BucketClient::Lost();
    if (count <= 0) return int64_t{0};
    const std::string& data = *entry_.data;
    data.copy(buffer, static_cast<size_t>(count), static_cast<size_t>(at_));
    at_ += count;
    client_.Count(&BucketCounts::bytes_down, count);
    return count;
  }

 private:
  BucketClient& client_;
  const Bucket::Entry entry_;
  const int64_t torn_at_;  // -1 = it comes whole
  int64_t at_ = 0;
  int64_t unpaid_ = 0;
};

Result<std::unique_ptr<Upload>> BucketClient::BeginUpload(const std::string& key,
                                                          const Condition& condition) {
  STOKER_TRY(CheckKey(key));
  return std::unique_ptr<Upload>(std::make_unique<BucketUpload>(*this, key, condition));
}

Result<std::unique_ptr<Download>> BucketClient::OpenDownload(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  STOKER_ASSIGN(Trip trip, Send(Kind::kGet, 0));
  // The connection is lost while the body comes.
  const bool torn = trip.fault == Fault::kTorn;
  if (torn) trip.fault = Fault::kNone;
  const Bucket::Entry* const found = trip.arrives() ? bucket_.Find(key) : nullptr;
  Bucket::Entry entry;
  if (found != nullptr) entry = *found;
  int64_t torn_at = -1;
  if (torn) torn_at = static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(entry.info.size) + 1));
  STOKER_TRY(Return(trip, 0));
  STOKER_TRY(bucket_.Refused(key, false));
  if (entry.data == nullptr) return Missing(key);
  return std::unique_ptr<Download>(
      std::make_unique<BucketDownload>(*this, std::move(entry), torn_at));
}

}  // namespace stoker::sim
