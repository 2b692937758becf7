// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/crc32c.h"
#include "net/percent.h"
#include "port/checksummed.h"
#include "store/bucket/range_read.h"
#include "store/gcs/gcs_answer.h"
#include "store/gcs/gcs_download.h"

namespace stoker::gcs {
namespace {

// "Objects: get": a generation that is not the object's any more is not found, unless the bucket
// keeps old ones.
bucket::OneVersion AskFor(const Bucket& bucket, const std::string& key, const Version& version) {
  bucket::OneVersion out;
  out.whole = OnObject(bucket.name, "GET", key, "alt=media&generation=" + PercentEncode(version));
  out.whole.headers = AsStored();
  out.part = out.whole;
  out.checksum = [version](const HttpHeaders& headers) -> Result<std::string> {
    const std::string* generation = FindHeader(headers, "x-goog-generation");
    if (generation != nullptr && *generation != version) {
      return Status(Code::kConflict, "the object has changed");
    }
    return ChecksumOf(headers);
  };
  return out;
}

class Reader : public ObjectReader, public Checksummed {
 public:
  Reader(Bucket bucket, std::string key, ObjectInfo info)
      : bucket_(std::move(bucket)),
        key_(std::move(key)),
        info_(std::move(info)),
        version_(AskFor(bucket_, key_, info_.version)) {}
  const ObjectInfo& info() const override { return info_; }
  bool ranged() const override { return true; }
  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    return bucket::ReadOneVersion(bucket_.carrier, version_, info_.size, offset, size, take);
  }

  Status Confirm(const std::vector<PartSum>& parts) override {
    if (parts.size() < 2) return Status::Ok();  // was checked as it came
    STOKER_ASSIGN(const std::string known, Ask());
    return bucket::CheckWhole(bucket_.carrier.Describe(version_.whole), known, parts);
  }

  Result<std::optional<uint32_t>> Checksum() override {
    STOKER_ASSIGN(const std::string known, Ask());
    return ParseCrc32cText(known);
  }

 private:
  // Crc32cText; "" = not told.
  Result<std::string> Ask() {
    const Request request = OnObject(bucket_.name, "GET", key_,
                                     "generation=" + PercentEncode(info_.version) +
                                         "&fields=name,size,generation,timeCreated,crc32c");
    const std::string what = bucket_.carrier.Describe(request);
    const auto answer = bucket_.carrier.Call(request);
    if (answer.status().Is(Code::kNotFound)) {
      return Status(Code::kConflict, what + ": it was replaced or deleted while it was read");
    }
    if (!answer.ok()) return answer.status();
    STOKER_ASSIGN(Resource there, ParseResource(what, answer->body));
    if (there.info.version != info_.version) {
      return Status(Code::kConflict, what + ": the object has changed");
    }
    return std::move(there.crc32c);
  }

  const Bucket bucket_;
  const std::string key_;
  const ObjectInfo info_;
  const bucket::OneVersion version_;
};

}  // namespace

std::unique_ptr<ObjectReader> OpenReader(const Bucket& bucket, std::string key, ObjectInfo info) {
  return std::make_unique<Reader>(bucket, std::move(key), std::move(info));
}

}  // namespace stoker::gcs
