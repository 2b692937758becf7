// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "store/s3_answer.h"
#include "store/s3_parts.h"
#include "store/transfer_buffer.h"
#include "sys/crc32c.h"

namespace stoker::s3 {
namespace {

// One range on its way: asked for again from where it broke off.
class RangeRead {
 public:
  RangeRead(bucket::RetryingCarrier& carrier, const std::string& key, const ObjectInfo& info,
            int64_t offset, int64_t size)
      : carrier_(carrier), info_(info), request_{"GET", key, "", {}, "", {}, false} {
    at_ = offset;
    end_ = offset + size;
    whole_ = offset == 0 && size == info.size;
  }

  Status Run(const TakeBytes& take) {
    for (int next = 2;; ++next) {
      Status taken;
      const Status read = Once(take, &taken);
      if (!taken.ok()) return taken;  // not the service's fault: nothing is asked for again
      if (read.ok()) return Check();
      if (!carrier_.Again(next, read, false)) {
        return read.WithContext(carrier_.Describe(request_));
      }
    }
  }

 private:
  Status Once(const TakeBytes& take, Status* taken) {
    if (at_ == end_ && started_) return Status::Ok();
    STOKER_ASSIGN(const std::unique_ptr<HttpAnswer> answer, Ask());
    char* const buffer = TransferBuffer();
    while (at_ < end_) {
      // Full buffers: then files are written in whole pages, which need not be cleared first.
      const int64_t want = std::min(end_ - at_, kTransferBuffer);
      int64_t filled = 0;
      Status broken;
      while (filled < want) {
        const auto got = answer->Read(buffer + filled, want - filled);
        if (!got.ok()) broken = got.status();
        if (got.ok() && *got == 0) broken = Status(Code::kCorrupt, "the answer is cut off");
        if (!broken.ok()) break;
        filled += *got;
      }
      const std::string_view bytes(buffer, static_cast<size_t>(filled));
      if (whole_ && !checksum_.empty()) crc_ = Crc32c(bytes, crc_);
      at_ += filled;
      if (filled > 0) *taken = take(bytes);
      if (!taken->ok()) return *taken;
      if (!broken.ok()) return broken;
    }
    // The end, so that the connection can be kept.
    STOKER_ASSIGN(const int64_t more, answer->Read(buffer, 1));
    if (more != 0) return Status(Code::kConflict, "the object is longer than it was");
    return Status::Ok();
  }

  Result<std::unique_ptr<HttpAnswer>> Ask() {
    Request request = request_;
    request.headers.emplace_back("If-Match", info_.version);
    const bool from_start = whole_ && at_ == 0;
    if (from_start) {
      request.headers.emplace_back("x-amz-checksum-mode", "ENABLED");
    } else {
      request.headers.emplace_back("Range",
                                   "bytes=" + std::to_string(at_) + "-" + std::to_string(end_ - 1));
    }
    STOKER_ASSIGN(std::unique_ptr<HttpAnswer> answer, carrier_.Open(request));
    const HttpHeaders& headers = answer->head().headers;
    const std::string* etag = FindHeader(headers, "ETag");
    if (etag != nullptr && *etag != info_.version) {
      return Status(Code::kConflict, "the object has changed");
    }
    if (from_start) {
      const KnownSum known = ChecksumOf(headers);
      if (!known.over_parts) checksum_ = known.text;
    } else {
      const std::string* range = FindHeader(headers, "Content-Range");
      const std::string wanted = "bytes " + std::to_string(at_) + "-";
      if (range == nullptr || range->compare(0, wanted.size(), wanted) != 0) {
        return Status(Code::kInvalid, "the service does not give the part that was asked for");
      }
    }
    started_ = true;
    return answer;
  }

  Status Check() const {
    if (checksum_.empty() || Crc32cText(crc_) == checksum_) return Status::Ok();
    return Status(Code::kCorrupt, carrier_.Describe(request_) +
                                      ": what arrived does not have the object's checksum");
  }

  bucket::RetryingCarrier& carrier_;
  const ObjectInfo& info_;
  const Request request_;
  int64_t at_ = 0;
  int64_t end_ = 0;
  bool whole_ = false;
  bool started_ = false;
  std::string checksum_;
  uint32_t crc_ = 0;
};

class Reader : public ObjectReader {
 public:
  Reader(bucket::RetryingCarrier& carrier, std::string key, ObjectInfo info)
      : carrier_(carrier), key_(std::move(key)), info_(std::move(info)) {}
  const ObjectInfo& info() const override { return info_; }
  bool ranged() const override { return true; }
  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    return RangeRead(carrier_, key_, info_, offset, size).Run(take);
  }

  Status Confirm(const std::vector<PartSum>& parts) override {
    if (parts.size() < 2) return Status::Ok();  // was checked as it came
    for (const PartSum& part : parts) {
      if (!part.crc32c) return Status::Ok();
    }
    const Request request{"HEAD", key_, "", {{"x-amz-checksum-mode", "ENABLED"}}, "", {}, false};
    STOKER_ASSIGN(const HttpResponse answer, carrier_.Call(request));
    const std::string* etag = FindHeader(answer.headers, "ETag");
    if (etag == nullptr || *etag != info_.version) {
      return Status(Code::kConflict, carrier_.Describe(request) + ": the object has changed");
    }
    const KnownSum known = ChecksumOf(answer.headers);
    if (known.text.empty()) return Status::Ok();
    if (known.over_parts) return CheckParts(known.text, parts);
    uint32_t crc = 0;
    for (const PartSum& part : parts) crc = Crc32cCombine(crc, *part.crc32c, part.size);
    return Same(known.text, crc);
  }

 private:
  // Only where the parts are those that it was written in.
  Status CheckParts(const std::string& known, const std::vector<PartSum>& parts) {
    const Request request{"HEAD", key_, "partNumber=1", {}, "", {}, false};
    const auto first = carrier_.Call(request);
    if (!first.ok()) return Status::Ok();  // a service that does not tell: TLS checked the bytes
    const std::string* size = FindHeader(first->headers, "Content-Length");
    const std::string* count = FindHeader(first->headers, "x-amz-mp-parts-count");
    if (size == nullptr || count == nullptr || *size != std::to_string(parts[0].size) ||
        *count != std::to_string(parts.size())) {
      return Status::Ok();
    }
    std::string sums;
    for (const PartSum& part : parts) {
      for (int shift = 24; shift >= 0; shift -= 8) {
        sums += static_cast<char>((*part.crc32c >> shift) & 0xff);
      }
    }
    return Same(known, Crc32c(sums));
  }

  Status Same(const std::string& known, uint32_t crc) const {
    if (known == Crc32cText(crc)) return Status::Ok();
    return Status(Code::kCorrupt, carrier_.Describe({"GET", key_, "", {}, "", {}, false}) +
                                      ": what arrived does not have the object's checksum");
  }

  bucket::RetryingCarrier& carrier_;
  const std::string key_;
  const ObjectInfo info_;
};

}  // namespace

std::unique_ptr<ObjectReader> OpenReader(bucket::RetryingCarrier& carrier, std::string key,
                                         ObjectInfo info) {
  return std::make_unique<Reader>(carrier, std::move(key), std::move(info));
}

}  // namespace stoker::s3
