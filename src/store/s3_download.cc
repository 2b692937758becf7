// SPDX-License-Identifier: Apache-2.0
#include "store/s3_download.h"

#include <utility>

#include "store/s3_answer.h"
#include "sys/crc32c.h"

namespace stoker::s3 {
namespace {

// What the object's own checksum says about all of its bytes; "" = nothing. That of an object of
// several parts may be over the parts' checksums: it ends in "-<parts>" then.
std::string ChecksumOf(const HttpHeaders& headers) {
  const std::string* text = FindHeader(headers, "x-amz-checksum-crc32c");
  return text != nullptr && text->find('-') == std::string::npos ? *text : "";
}

class Resuming : public S3Download {
 public:
  Resuming(RetryingCarrier& carrier, Request request, std::unique_ptr<HttpAnswer> answer,
           ObjectInfo info)
      : carrier_(carrier),
        request_(std::move(request)),
        what_(carrier.Describe(request_)),
        answer_(std::move(answer)),
        info_(std::move(info)),
        checksum_(ChecksumOf(answer_->head().headers)),
        store_now_(DateOf(answer_->head().headers, carrier.ServiceNow())) {}

  const ObjectInfo& info() const override { return info_; }
  WallTime store_now() const override { return store_now_; }

  Result<int64_t> Read(char* buffer, int64_t size) override {
    for (int next = 2;; ++next) {
      auto got = answer_ ? answer_->Read(buffer, size) : Resume(buffer, size);
      if (got.ok()) {
        STOKER_TRY(Absorb({buffer, static_cast<size_t>(*got)}));
        return *got;
      }
      answer_.reset();
      if (!carrier_.Again(next, got.status(), false)) return got.status().WithContext(what_);
    }
  }

 private:
  // The rest, of this very version.
  Result<int64_t> Resume(char* buffer, int64_t size) {
    Request rest = request_;
    rest.headers = {{"Range", "bytes=" + std::to_string(at_) + "-"}, {"If-Match", info_.version}};
    if (at_ == info_.size) return int64_t{0};
    STOKER_ASSIGN(answer_, carrier_.Open(rest));
    const std::string* range = FindHeader(answer_->head().headers, "Content-Range");
    const std::string wanted = "bytes " + std::to_string(at_) + "-";
    if (range == nullptr || range->compare(0, wanted.size(), wanted) != 0) {
      return Status(Code::kInvalid, "the service does not give the part that was asked for");
    }
    return answer_->Read(buffer, size);
  }

  Status Absorb(std::string_view bytes) {
    at_ += static_cast<int64_t>(bytes.size());
    if (!bytes.empty()) {
      if (!checksum_.empty()) crc_ = Crc32c(bytes, crc_);
      return Status::Ok();
    }
    if (at_ != info_.size) {
      return Status(Code::kCorrupt, what_ + ": " + std::to_string(at_) + " bytes came instead of " +
                                        std::to_string(info_.size));
    }
    if (checksum_.empty() || Crc32cText(crc_) == checksum_) return Status::Ok();
    return Status(Code::kCorrupt, what_ + ": what arrived does not have the object's checksum");
  }

  RetryingCarrier& carrier_;
  const Request request_;
  const std::string what_;
  std::unique_ptr<HttpAnswer> answer_;  // null: broken off
  const ObjectInfo info_;
  const std::string checksum_;
  const WallTime store_now_;
  int64_t at_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace

Result<std::unique_ptr<S3Download>> OpenDownload(RetryingCarrier& carrier, const std::string& key,
                                                 const std::string& name) {
  Request request{"GET", key, "", {{"x-amz-checksum-mode", "ENABLED"}}, "", {}, false};
  STOKER_ASSIGN(std::unique_ptr<HttpAnswer> answer, carrier.Open(request));
  STOKER_ASSIGN(ObjectInfo info, InfoOf(carrier.Describe(request), answer->head().headers));
  info.key = name;
  return std::unique_ptr<S3Download>(
      std::make_unique<Resuming>(carrier, std::move(request), std::move(answer), std::move(info)));
}

}  // namespace stoker::s3
