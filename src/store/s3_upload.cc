// SPDX-License-Identifier: Apache-2.0
#include "store/s3_upload.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/text.h"
#include "net/percent.h"
#include "store/file_range.h"
#include "store/s3_answer.h"
#include "sys/crc32c.h"

namespace stoker::s3 {
namespace {

constexpr int kMostParts = 10'000;

HttpHeaders ConditionHeaders(const Condition& condition) {
  switch (condition.kind) {
    case Condition::Kind::kNone:
      return {};
    case Condition::Kind::kAbsent:
      return {{"If-None-Match", "*"}};
    case Condition::Kind::kMatch:
      return {{"If-Match", condition.version}};
  }
  return {};
}

// 412 says that the condition does not hold; which one, the caller knows.
Status Meant(const Condition& condition, const Status& status, const std::string& what) {
  if (!status.Is(Code::kConflict) || condition.kind != Condition::Kind::kAbsent) return status;
  return Status(Code::kExists, what + ": it is there already");
}

// A version goes into a header as it is.
Status CheckCondition(const Condition& condition) {
  if (condition.kind != Condition::Kind::kMatch) return Status::Ok();
  if (!condition.version.empty() && condition.version.find_first_of("\r\n") == std::string::npos) {
    return Status::Ok();
  }
  return Status(Code::kConflict, "'" + Printable(condition.version) + "' is no version");
}

Result<std::string> EtagOf(const HttpResponse& answer, const std::string& what) {
  const std::string* etag = FindHeader(answer.headers, "ETag");
  if (etag == nullptr || etag->empty()) {
    return Status(Code::kCorrupt, what + ": the answer has no ETag");
  }
  return *etag;
}

struct DonePart {
  std::string etag;
  uint32_t checksum = 0;
  int64_t size = 0;
};

// The checksum of what the parts make together.
uint32_t ChecksumOf(const std::vector<DonePart>& parts) {
  uint32_t crc = 0;
  for (const DonePart& part : parts) crc = Crc32cCombine(crc, part.checksum, part.size);
  return crc;
}

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
    if (upload_id_.empty()) return PutWhole(client_, key_, std::move(buffer_), condition_);
    if (!buffer_.empty()) STOKER_TRY(SendBuffer());
    return Complete();
  }

 private:
  std::string What(const char* verb) const {
    return client_.Describe({verb, key_, "", {}, "", {}, false});
  }

  Status Begin() {
    if (!upload_id_.empty()) return Status::Ok();
    Request request{"POST", key_, "uploads=", {}, "", {}};
    request.headers = {{"x-amz-checksum-algorithm", "CRC32C"},
                       {"x-amz-checksum-type", "FULL_OBJECT"}};
    STOKER_ASSIGN(const HttpResponse answer, client_.Call(request));
    // Services that do not know it make a checksum of the parts' checksums, as S3 did before 2025.
    const std::string* type = FindHeader(answer.headers, "x-amz-checksum-type");
    full_checksum_ = type != nullptr && *type == "FULL_OBJECT";
    STOKER_ASSIGN(upload_id_, ElementOf(client_.Describe(request), answer.body,
                                        "InitiateMultipartUploadResult", "UploadId"));
    if (!upload_id_.empty()) return Status::Ok();
    return Status(Code::kCorrupt, client_.Describe(request) + ": the answer has no UploadId");
  }

  // Numbers begin at 1.
  Status SendPart(int number, uint32_t crc, std::string body, const HttpFileBody& file) {
    Request request{"PUT", key_, "", {}, std::move(body), file, false};
    request.query =
        "partNumber=" + std::to_string(number) + "&uploadId=" + PercentEncode(upload_id_);
    DonePart done;
    done.checksum = crc;
    done.size = static_cast<int64_t>(request.body.size()) + (file.fd >= 0 ? file.size : 0);
    request.headers.emplace_back("x-amz-checksum-crc32c", Crc32cText(crc));
    STOKER_ASSIGN(const HttpResponse answer, client_.Call(request));
    STOKER_ASSIGN(done.etag, EtagOf(answer, client_.Describe(request)));
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
    return SendPart(next_part_++, crc, std::exchange(buffer_, {}), {});
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
            crc.ok() ? SendPart(next_part_ + static_cast<int>(i), *crc, "", range) : crc.status();
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

  Request Completion() const {
    Request request{"POST", key_, "uploadId=" + PercentEncode(upload_id_), {}, "", {}};
    request.headers = ConditionHeaders(condition_);
    request.conditional = condition_.kind != Condition::Kind::kNone;
    if (full_checksum_) {
      request.headers.emplace_back("x-amz-checksum-type", "FULL_OBJECT");
      request.headers.emplace_back("x-amz-checksum-crc32c", Crc32cText(ChecksumOf(parts_)));
    }
    request.body = "<CompleteMultipartUpload>";
    for (size_t i = 0; i < parts_.size(); ++i) {
      request.body += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" +
                      EscapeXml(parts_[i].etag) + "</ETag><ChecksumCRC32C>" +
                      Crc32cText(parts_[i].checksum) + "</ChecksumCRC32C></Part>";
    }
    request.body += "</CompleteMultipartUpload>";
    return request;
  }

  Result<Version> Complete() {
    const Request request = Completion();
    const std::string what = client_.Describe(request);
    const auto answer = client_.Call(request);
    Status refused = answer.status();
    if (answer.ok()) {
      // It says 200 before it knows: what went wrong then is in the body.
      const Failure failure = ParseFailure(*answer);
      if (failure.code.empty()) return Completed(what, answer->body);
      refused = FailureStatus(what, 500, failure);
    }
    if (refused.message().find("NoSuchUpload") != std::string::npos) {
      if (auto version = FindCompleted(); version.ok()) return version;
    }
    return Meant(condition_, refused, what);
  }

  Result<Version> Completed(const std::string& what, const std::string& body) {
    STOKER_ASSIGN(const std::string etag,
                  ElementOf(what, body, "CompleteMultipartUploadResult", "ETag"));
    if (etag.empty()) return Status(Code::kCorrupt, what + ": the answer has no ETag");
    upload_id_.clear();
    return etag;
  }

  // The answer to a completion may get lost; asked again, some services know of no such upload any
  // more. What lies there then is ours if it has our size and our checksum.
  Result<Version> FindCompleted() {
    if (!full_checksum_) return Status(Code::kNotFound, "not to be told");
    const Request head{"HEAD", key_, "", {{"x-amz-checksum-mode", "ENABLED"}}, "", {}, false};
    STOKER_ASSIGN(const HttpResponse answer, client_.Call(head));
    STOKER_ASSIGN(const ObjectInfo info, InfoOf(client_.Describe(head), answer.headers));
    const std::string* checksum = FindHeader(answer.headers, "x-amz-checksum-crc32c");
    int64_t size = 0;
    for (const DonePart& part : parts_) size += part.size;
    if (info.size != size || checksum == nullptr || *checksum != Crc32cText(ChecksumOf(parts_))) {
      return Status(Code::kNotFound, "something else is there");
    }
    upload_id_.clear();
    return info.version;
  }

  static std::string EscapeXml(const std::string& text) {
    std::string out;
    for (const char c : text) {
      switch (c) {
        case '&':
          out += "&amp;";
          break;
        case '<':
          out += "&lt;";
          break;
        case '>':
          out += "&gt;";
          break;
        case '"':
          out += "&quot;";
          break;
        default:
          out += c;
      }
    }
    return out;
  }

  // What is not aborted costs money until somebody sweeps: `gc` does.
  void Abort() {
    if (upload_id_.empty()) return;
    (void)client_.Call(
        {"DELETE", key_, "uploadId=" + PercentEncode(upload_id_), {}, "", {}, false});
  }

  Carrier& client_;
  const std::string key_;
  const Condition condition_;
  const int64_t part_bytes_;
  const int parallel_;
  std::string buffer_;
  std::string upload_id_;       // "" = none begun, or completed
  bool full_checksum_ = false;  // the object's checksum is over its bytes
  int next_part_ = 1;
  bool committed_ = false;
  std::mutex mutex_;
  std::vector<DonePart> parts_;
};

}  // namespace

Result<Version> PutWhole(Carrier& client, const std::string& key, std::string data,
                         const Condition& condition) {
  STOKER_TRY(CheckCondition(condition));
  Request request{"PUT", key, "", ConditionHeaders(condition), std::move(data), {}, false};
  request.conditional = condition.kind != Condition::Kind::kNone;
  request.headers.emplace_back("x-amz-checksum-crc32c", Crc32cText(Crc32c(request.body)));
  const std::string what = client.Describe(request);
  const auto answer = client.Call(request);
  if (!answer.ok()) return Meant(condition, answer.status(), what);
  return EtagOf(*answer, what);
}

Result<std::unique_ptr<Upload>> BeginUpload(Carrier& client, const std::string& key,
                                            const Condition& condition, int64_t part_bytes,
                                            int parallel) {
  STOKER_TRY(CheckCondition(condition));
  return std::unique_ptr<Upload>(
      std::make_unique<S3Upload>(client, key, condition, part_bytes, parallel));
}

}  // namespace stoker::s3
