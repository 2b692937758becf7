// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <utility>

#include "base/crc32c.h"
#include "port/checksummed.h"
#include "store/bucket/range_read.h"
#include "store/s3/s3_answer.h"
#include "store/s3/s3_parts.h"

namespace stoker::s3 {
namespace {

// What the headers of an answer say of the object's mode.
enum class Mode : char { kUnknown, kPlain, kExecutable };

Mode ModeOf(const HttpHeaders& headers) {
  return FindHeader(headers, kExecutableHeader) == nullptr ? Mode::kPlain : Mode::kExecutable;
}

bucket::OneVersion AskFor(const std::string& key, const Version& version, std::atomic<Mode>* mode) {
  bucket::OneVersion out;
  out.part = {"GET", key, "", {{"If-Match", version}}, "", {}, false};
  out.whole = out.part;
  out.whole.headers.emplace_back("x-amz-checksum-mode", "ENABLED");
  out.checksum = [version, mode](const HttpHeaders& headers) -> Result<std::string> {
    const std::string* etag = FindHeader(headers, "ETag");
    if (etag != nullptr && *etag != version) {
      return Status(Code::kConflict, "the object has changed");
    }
    *mode = ModeOf(headers);
    KnownSum known = ChecksumOf(headers);
    return known.over_parts ? std::string() : std::move(known.text);
  };
  return out;
}

class Reader : public ObjectReader, public Checksummed {
 public:
  Reader(bucket::RetryingCarrier& carrier, std::string key, ObjectInfo info)
      : carrier_(carrier),
        key_(std::move(key)),
        info_(std::move(info)),
        version_(AskFor(key_, info_.version, &mode_)) {}
  const ObjectInfo& info() const override { return info_; }
  bool ranged() const override { return true; }
  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    return bucket::ReadOneVersion(carrier_, version_, info_.size, offset, size, take);
  }

  Status Confirm(const std::vector<PartSum>& parts) override {
    if (parts.size() < 2) return Status::Ok();  // was checked as it came
    for (const PartSum& part : parts) {
      if (!part.crc32c) return Status::Ok();
    }
    STOKER_ASSIGN(const KnownSum known, Ask());
    if (known.over_parts) return CheckParts(known.text, parts);
    return bucket::CheckWhole(carrier_.Describe(version_.whole), known.text, parts);
  }

  Result<std::optional<uint32_t>> Checksum() override {
    STOKER_ASSIGN(const KnownSum known, Ask());
    return known.over_parts ? std::nullopt : ParseCrc32cText(known.text);
  }

  Result<bool> Executable() override {
    if (mode_ == Mode::kUnknown) STOKER_TRY(Ask().status());
    return mode_ == Mode::kExecutable;
  }

 private:
  Result<KnownSum> Ask() {
    const Request request{
        .method = "HEAD", .key = key_, .headers = {{"x-amz-checksum-mode", "ENABLED"}}};
    STOKER_ASSIGN(const HttpResponse answer, carrier_.Call(request));
    const std::string* etag = FindHeader(answer.headers, "ETag");
    if (etag == nullptr || *etag != info_.version) {
      return Status(Code::kConflict, carrier_.Describe(request) + ": the object has changed");
    }
    mode_ = ModeOf(answer.headers);
    return ChecksumOf(answer.headers);
  }

  // Only where the parts are those that it was written in.
  Status CheckParts(const std::string& known, const std::vector<PartSum>& parts) {
    const Request request{.method = "HEAD", .key = key_, .query = "partNumber=1"};
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
    const auto size_of_sums = static_cast<int64_t>(sums.size());
    return bucket::CheckWhole(carrier_.Describe(version_.whole), known,
                              {{size_of_sums, Crc32c(sums)}});
  }

  bucket::RetryingCarrier& carrier_;
  const std::string key_;
  const ObjectInfo info_;
  std::atomic<Mode> mode_ = Mode::kUnknown;
  const bucket::OneVersion version_;
};

}  // namespace

std::unique_ptr<ObjectReader> OpenReader(bucket::RetryingCarrier& carrier, std::string key,
                                         ObjectInfo info) {
  return std::make_unique<Reader>(carrier, std::move(key), std::move(info));
}

}  // namespace stoker::s3
