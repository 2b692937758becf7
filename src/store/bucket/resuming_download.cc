// SPDX-License-Identifier: Apache-2.0
#include "store/bucket/resuming_download.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "net/http_date.h"

namespace stoker::bucket {
namespace {

class Resuming : public BucketDownload {
 public:
  Resuming(RetryingCarrier& carrier, Opened opened)
      : carrier_(carrier),
        same_(std::move(opened.same)),
        what_(carrier.Describe(same_)),
        answer_(std::move(opened.answer)),
        info_(std::move(opened.info)),
        checksum_(std::move(opened.checksum)),
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
    if (at_ == info_.size) return int64_t{0};
    Request rest = same_;
    rest.headers.emplace_back("Range", "bytes=" + std::to_string(at_) + "-");
    auto answer = carrier_.Open(rest);
    if (answer.status().Is(Code::kNotFound)) {
      return Status(Code::kConflict, "it was replaced or deleted while it was read");
    }
    if (!answer.ok()) return answer.status();
    answer_ = std::move(*answer);
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
  const Request same_;
  const std::string what_;
  std::unique_ptr<HttpAnswer> answer_;  // null: broken off
  const ObjectInfo info_;
  const std::string checksum_;
  const WallTime store_now_;
  int64_t at_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace

std::unique_ptr<BucketDownload> ReadResuming(RetryingCarrier& carrier, Opened opened) {
  return std::make_unique<Resuming>(carrier, std::move(opened));
}

Result<Object> ReadObject(BucketDownload& download, const std::string& what) {
  constexpr int64_t kMost = int64_t{1} << 30;
  Object object;
  object.info = download.info();
  if (object.info.size > kMost) {
    return Status(Code::kNoSpace, what + " is too large to be read at once");
  }
  object.data.resize(static_cast<size_t>(object.info.size));
  int64_t at = 0;
  while (true) {
    // One byte more than there is: the end is seen, and checked.
    char end = 0;
    char* into = at < object.info.size ? object.data.data() + at : &end;
    STOKER_ASSIGN(const int64_t got,
                  download.Read(into, std::max<int64_t>(object.info.size - at, 1)));
    if (got == 0) break;
    at += got;
  }
  object.store_now = download.store_now();
  return object;
}

Result<Object> ReadAnew(RetryingCarrier& carrier, const std::function<Result<Object>()>& once) {
  for (int next = 2;; ++next) {
    auto object = once();
    const Code code = object.code();
    if (object.ok() || (code != Code::kCorrupt && code != Code::kConflict)) return object;
    const Status failure(Code::kCorrupt, object.status().message());
    if (!carrier.Again(next, failure, false)) return failure;
  }
}

}  // namespace stoker::bucket
