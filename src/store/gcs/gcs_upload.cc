// SPDX-License-Identifier: Apache-2.0
#include "store/gcs/gcs_upload.h"

#include <optional>
#include <utility>

#include "base/crc32c.h"
#include "store/bytes/file_range.h"
#include "store/gcs/gcs_condition.h"
#include "store/gcs/gcs_insert.h"

namespace stoker::gcs {
namespace {

// Bytes that a session is to get: of memory, or of a file.
struct Chunk {
  std::string_view bytes;
  HttpFileBody file;
  int64_t size() const { return file.fd >= 0 ? file.size : static_cast<int64_t>(bytes.size()); }
};

class GcsUpload : public Upload {
 public:
  GcsUpload(Bucket bucket, std::string key, Condition condition, int64_t chunk_bytes)
      : bucket_(std::move(bucket)),
        key_(std::move(key)),
        condition_(std::move(condition)),
        chunk_bytes_(chunk_bytes) {}
  // A session that is not ended goes by itself after a week, and costs nothing; but its address is
  // good until then.
  ~GcsUpload() override {
    if (session_.target.empty() || ended_) return;
    Request cancel = session_;
    cancel.method = "DELETE";
    (void)bucket_.carrier.Once(cancel);
  }

  Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      // The last chunk says how much there is: it is sent when no more comes.
      if (buffer_.size() == static_cast<size_t>(chunk_bytes_)) {
        STOKER_TRY(SendMiddle({buffer_, {}}, Crc32c(buffer_, crc_)));
        buffer_.clear();
      }
      const std::string_view piece =
          bytes.substr(0, static_cast<size_t>(chunk_bytes_) - buffer_.size());
      buffer_ += piece;
      bytes.remove_prefix(piece.size());
    }
    return Status::Ok();
  }

  Status WriteFile(int fd, int64_t size) override {
    int64_t at = 0;
    if (buffer_.empty()) {
      for (; size - at > chunk_bytes_; at += chunk_bytes_) {
        const HttpFileBody range{fd, at, chunk_bytes_};
        STOKER_ASSIGN(const uint32_t crc, ChecksumOfRange(fd, at, chunk_bytes_, crc_));
        STOKER_TRY(SendMiddle({{}, range}, crc));
      }
    }
    return ReadRange(fd, at, size - at, [this](std::string_view piece) { return Write(piece); });
  }

  Result<Version> Commit() override {
    if (committed_) return Status(Code::kInvalid, key_ + ": committed twice");
    committed_ = true;
    if (!refused_.ok()) return refused_;
    if (session_.target.empty()) return PutWhole(bucket_, key_, buffer_, condition_);
    crc_ = Crc32c(buffer_, crc_);
    STOKER_ASSIGN(const auto answer, Send({buffer_, {}}, /*last=*/true));
    if (!refused_.ok()) return refused_;
    STOKER_ASSIGN(Resource made, Made(bucket_, session_, *answer, crc_));
    return std::move(made.info.version);
  }

 private:
  Status Begin() {
    Request request = OnUpload(bucket_.name, "resumable", key_, ConditionQuery(condition_));
    request.headers = {{"Content-Type", "application/json; charset=UTF-8"},
                       {"X-Upload-Content-Type", kContentType}};
    request.body = std::string(R"({"contentType":")") + kContentType + "\"}";
    const auto answer = bucket_.carrier.Call(request);
    if (!answer.ok()) return Refused(answer.status());
    const std::string* location = FindHeader(answer->headers, "Location");
    auto session = OnSession(key_, location == nullptr ? "" : *location);
    if (!session.ok()) return session.status().WithContext(bucket_.carrier.Describe(request));
    session_ = std::move(*session);
    return Status::Ok();
  }

  // A condition that does not hold is Commit's to report; what comes until then goes nowhere.
  Status Refused(const Status& status) {
    ended_ = true;
    const Status meant = Meant(bucket_, key_, condition_, status);
    if (!status.Is(Code::kConflict)) return meant;
    refused_ = meant;
    return Status::Ok();
  }

  // A chunk that others follow; `crc` is that of all bytes to its end.
  Status SendMiddle(const Chunk& chunk, uint32_t crc) {
    if (refused_.ok() && session_.target.empty()) STOKER_TRY(Begin());
    if (!refused_.ok()) return Status::Ok();
    STOKER_TRY(Send(chunk, /*last=*/false).status());
    crc_ = crc;
    return Status::Ok();
  }

  // What is left of `chunk`, from where the session is.
  Result<HttpResponse> Push(const Chunk& chunk, bool last) {
    const int64_t skip = stored_ - begin_;
    const int64_t left = chunk.size() - skip;
    Request request = session_;
    std::string range = "bytes */";
    if (left > 0) {
      range = "bytes " + std::to_string(stored_) + "-" + std::to_string(stored_ + left - 1) + "/";
    }
    range += last ? std::to_string(begin_ + chunk.size()) : "*";
    request.headers = {{"Content-Range", range}, {"Content-Type", kContentType}};
    if (last) request.headers.emplace_back("X-Goog-Hash", "crc32c=" + Crc32cText(crc_));
    if (chunk.file.fd >= 0) {
      request.file = {chunk.file.fd, chunk.file.offset + skip, left};
    } else {
      request.body = chunk.bytes.substr(static_cast<size_t>(skip));
    }
    return bucket_.carrier.Once(request);
  }

  // "How much do you have?"
  Result<HttpResponse> Ask() {
    Request request = session_;
    request.headers = {{"Content-Range", "bytes */*"}};
    return bucket_.carrier.Once(request);
  }

  // Until the session has all of the chunk; the answer that made the object if `last`. Nothing is
  // sent twice that the session has.
  Result<std::optional<HttpResponse>> Send(const Chunk& chunk, bool last) {
    begin_ = stored_;
    const int64_t end = begin_ + chunk.size();
    bool ask = false;
    for (int next = 2;;) {
      auto answer = ask ? Ask() : Push(chunk, last);
      const bool asked = std::exchange(ask, false);
      Status trouble = answer.status();
      if (answer.ok() && answer->status != 308) return Ended(std::move(*answer), last);
      if (answer.ok()) {
        STOKER_ASSIGN(const int64_t has, ParseStored(What(), answer->headers));
        if (has < stored_ || has > end) return Strange("has bytes that it cannot have");
        const bool progress = has > stored_;
        stored_ = has;
        if (!last && stored_ == end) return std::optional<HttpResponse>();
        if (progress) next = 2;
        if (progress || asked) continue;
        trouble = Status(Code::kUnavailable, What() + ": the upload does not go on");
      }
      if (trouble.Is(Code::kNotFound)) {
        return Status(Code::kUnavailable, What() + ": the service forgot the upload");
      }
      if (trouble.Is(Code::kConflict)) {
        STOKER_TRY(Refused(trouble));
        return std::optional<HttpResponse>();
      }
      if (!bucket_.carrier.Again(next++, trouble, false)) return trouble;
      ask = true;
    }
  }

  Result<std::optional<HttpResponse>> Ended(HttpResponse answer, bool last) {
    ended_ = true;
    if (!last) return Strange("ended before all of it was sent");
    return std::optional(std::move(answer));
  }

  std::string What() const { return bucket_.carrier.Describe(session_); }
  Status Strange(const char* how) const {
    return Status(Code::kCorrupt, What() + ": the upload's session " + how);
  }

  const Bucket bucket_;
  const std::string key_;
  const Condition condition_;
  const int64_t chunk_bytes_;
  std::string buffer_;
  Request session_;     // without target: none begun
  int64_t begin_ = 0;   // of the chunk under way
  int64_t stored_ = 0;  // what the session has
  uint32_t crc_ = 0;    // of all before the buffer
  Status refused_;      // the condition did not hold
  bool ended_ = false;
  bool committed_ = false;
};

}  // namespace

Result<Version> PutWhole(const Bucket& bucket, const std::string& key, std::string_view data,
                         const Condition& condition, const std::string& type) {
  STOKER_ASSIGN(Resource made, Insert(bucket, key, MessageOf(data, type), condition));
  return std::move(made.info.version);
}

Result<Version> PutFrom(const Bucket& bucket, const std::string& key, ObjectReader& from,
                        const Condition& condition) {
  const int64_t size = from.info().size;
  STOKER_ASSIGN(Message message, MessageOf(from, 0, size));
  // What changes from here on does not have the checksum: the service refuses it.
  STOKER_TRY(from.Confirm({{size, message.crc}}));
  STOKER_ASSIGN(Resource made, Insert(bucket, key, std::move(message), condition));
  return std::move(made.info.version);
}

std::unique_ptr<Upload> BeginUpload(Bucket bucket, const std::string& key,
                                    const Condition& condition, int64_t chunk_bytes) {
  return std::make_unique<GcsUpload>(std::move(bucket), key, condition, chunk_bytes);
}

}  // namespace stoker::gcs
