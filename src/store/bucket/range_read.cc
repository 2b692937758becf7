// SPDX-License-Identifier: Apache-2.0
#include "store/bucket/range_read.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "store/bytes/transfer_buffer.h"

namespace stoker::bucket {
namespace {

Status WrongSum(const std::string& what) {
  return Status(Code::kCorrupt, what + ": what arrived does not have the object's checksum");
}

// One range on its way: asked for again from where it broke off.
class RangeRead {
 public:
  RangeRead(RetryingCarrier& carrier, const OneVersion& version, int64_t object_size,
            int64_t offset, int64_t size)
      : carrier_(carrier), version_(version) {
    at_ = offset;
    end_ = offset + size;
    whole_ = offset == 0 && size == object_size;
  }

  Status Run(const TakeBytes& take) {
    for (int next = 2;; ++next) {
      Status taken;
      const Status read = Once(take, &taken);
      if (!taken.ok()) return taken;  // not the service's fault: nothing is asked for again
      if (read.ok()) return Check();
      if (!carrier_.Again(next, read, false)) {
        return read.WithContext(carrier_.Describe(version_.part));
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
    const bool from_start = whole_ && at_ == 0;
    Request request = from_start ? version_.whole : version_.part;
    if (!from_start) {
      request.headers.emplace_back("Range",
                                   "bytes=" + std::to_string(at_) + "-" + std::to_string(end_ - 1));
    }
    auto answer = carrier_.Open(request);
    if (answer.status().Is(Code::kNotFound)) {
      return Status(Code::kConflict, "it was replaced or deleted");
    }
    if (!answer.ok()) return answer.status();
    const HttpHeaders& headers = (*answer)->head().headers;
    STOKER_ASSIGN(std::string known, version_.checksum(headers));
    if (from_start) {
      checksum_ = std::move(known);
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
    return WrongSum(carrier_.Describe(version_.whole));
  }

  RetryingCarrier& carrier_;
  const OneVersion& version_;
  int64_t at_ = 0;
  int64_t end_ = 0;
  bool whole_ = false;
  bool started_ = false;
  std::string checksum_;
  uint32_t crc_ = 0;
};

}  // namespace

Status ReadOneVersion(RetryingCarrier& carrier, const OneVersion& version, int64_t object_size,
                      int64_t offset, int64_t size, const TakeBytes& take) {
  return RangeRead(carrier, version, object_size, offset, size).Run(take);
}

Status CheckWhole(const std::string& what, const std::string& known,
                  const std::vector<PartSum>& parts) {
  uint32_t crc = 0;
  for (const PartSum& part : parts) {
    if (!part.crc32c) return Status::Ok();
    crc = Crc32cCombine(crc, *part.crc32c, part.size);
  }
  return known.empty() || known == Crc32cText(crc) ? Status::Ok() : WrongSum(what);
}

}  // namespace stoker::bucket
