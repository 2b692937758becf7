// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_upload.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/crc32c.h"
#include "store/bytes/file_range.h"
#include "store/s3/s3_multipart.h"

namespace stoker::s3 {
namespace {

class S3Upload : public Upload {
 public:
  S3Upload(Carrier& client, std::string key, Condition condition, int64_t part_bytes, int parallel)
      : client_(client),
        key_(std::move(key)),
        condition_(std::move(condition)),
        part_bytes_(part_bytes),
        parallel_(parallel) {}
  ~S3Upload() override { Abort(); }

  Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const size_t room = static_cast<size_t>(part_bytes_) - buffer_.size();
      const std::string_view piece = bytes.substr(0, room);
      buffer_ += piece;
      bytes.remove_prefix(piece.size());
      // The last part may be of any size, also none: it is sent when more comes, or at the end.
      if (buffer_.size() == static_cast<size_t>(part_bytes_) && !bytes.empty()) {
        STOKER_TRY(SendBuffer());
      }
    }
    return Status::Ok();
  }

  Status WriteFile(int fd, int64_t size) override {
    if (buffer_.empty() && size > part_bytes_) return SendFile(fd, size);
    return ReadRange(fd, 0, size, [this](std::string_view piece) { return Write(piece); });
  }

  Result<Version> Commit() override {
    if (committed_) return Status(Code::kInvalid, What("PUT") + ": committed twice");
    committed_ = true;
    if (upload_.id.empty()) return PutWhole(client_, key_, std::move(buffer_), condition_);
    if (!buffer_.empty()) STOKER_TRY(SendBuffer());
    return Complete();
  }

 private:
  std::string What(const char* verb) const {
    return client_.Describe({.method = verb, .key = key_});
  }

  Status Begin() {
    if (!upload_.id.empty()) return Status::Ok();
    STOKER_ASSIGN(upload_, BeginMultipart(client_, key_));
    return Status::Ok();
  }

  // Numbers begin at 1.
  Status Send(int number, uint32_t crc, std::string body, const HttpFileBody& file) {
    STOKER_ASSIGN(DonePart done,
                  SendPart(client_, key_, upload_.id, number, crc, std::move(body), file));
    const std::lock_guard lock(mutex_);
    if (parts_.size() < static_cast<size_t>(number)) parts_.resize(static_cast<size_t>(number));
    parts_[static_cast<size_t>(number) - 1] = std::move(done);
    return Status::Ok();
  }

  Status SendBuffer() {
    STOKER_TRY(Begin());
    if (next_part_ > kMostParts) {
      return Status(Code::kNoSpace, What("PUT") + ": more than " + std::to_string(kMostParts) +
                                        " parts of " + std::to_string(part_bytes_) + " bytes");
    }
    const uint32_t crc = Crc32c(buffer_);
    return Send(next_part_++, crc, std::exchange(buffer_, {}), {});
  }

  // Several parts at once, each read twice: once for its checksum, once into the socket.
  Status SendFile(int fd, int64_t size) {
    STOKER_TRY(Begin());
    const int64_t left_parts = kMostParts - (next_part_ - 1);
    const int64_t part =
        std::max(part_bytes_, (size + left_parts - 1) / std::max<int64_t>(left_parts, 1));
    const int64_t parts = (size + part - 1) / part;
    if (left_parts < parts) return Status(Code::kNoSpace, What("PUT") + ": too many parts");
    std::atomic<int64_t> next = 0;
    Status failed;
    const auto work = [&] {
      for (int64_t i = next++; i < parts; i = next++) {
        const HttpFileBody range{fd, i * part, std::min(part, size - i * part)};
        const auto crc = ChecksumOfRange(fd, range.offset, range.size);
        const Status sent =
            crc.ok() ? Send(next_part_ + static_cast<int>(i), *crc, "", range) : crc.status();
        if (sent.ok()) continue;
        next = parts;
        const std::lock_guard lock(mutex_);
        if (failed.ok()) failed = sent;
      }
    };
    std::vector<std::thread> others;
    const int64_t threads = std::min<int64_t>(parallel_, parts);
    for (int64_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
    for (std::thread& other : others) other.join();
    next_part_ += static_cast<int>(parts);
    return failed;
  }

  Result<Version> Complete() {
    STOKER_ASSIGN(Version version, CompleteMultipart(client_, key_, upload_, parts_, condition_));
    upload_.id.clear();
    return version;
  }

  // What is not aborted costs money until somebody sweeps: `gc` does.
  void Abort() {
    if (upload_.id.empty()) return;
    (void)AbortMultipart(client_, key_, upload_.id);
  }

  Carrier& client_;
  const std::string key_;
  const Condition condition_;
  const int64_t part_bytes_;
  const int parallel_;
  std::string buffer_;
  Multipart upload_;  // its id is "" while none is begun, and once it is completed
  int next_part_ = 1;
  bool committed_ = false;
  std::mutex mutex_;
  std::vector<DonePart> parts_;
};

}  // namespace

Result<Version> PutWhole(Carrier& client, const std::string& key, std::string data,
                         const Condition& condition, const std::string& type) {
  const uint32_t crc = Crc32c(data);
  return PutObject(client, key, std::move(data), {}, crc, condition, {type});
}

Result<std::unique_ptr<Upload>> BeginUpload(Carrier& client, const std::string& key,
                                            const Condition& condition, int64_t part_bytes,
                                            int parallel) {
  STOKER_TRY(CheckCondition(condition));
  return std::unique_ptr<Upload>(
      std::make_unique<S3Upload>(client, key, condition, part_bytes, parallel));
}

}  // namespace stoker::s3
