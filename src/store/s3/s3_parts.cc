// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_parts.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "base/crc32c.h"
#include "base/text.h"
#include "store/bytes/file_range.h"
#include "store/bytes/transfer_buffer.h"
#include "store/s3/s3_answer.h"
#include "store/s3/s3_multipart.h"

namespace stoker::s3 {
namespace {

constexpr size_t kMostDeletes = 1000;

Result<std::string> ReadInto(ObjectReader& from, int64_t offset, int64_t size) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(size));
  STOKER_TRY(from.Read(offset, size, [&](std::string_view piece) {
    bytes += piece;
    return Status::Ok();
  }));
  return bytes;
}

struct Resumed {
  Multipart upload;
  std::map<int, DonePart> parts;
};

// The parts' size stands in the id, as parts of another size are of no use, and so does what kind
// of checksum the object gets: "16777216f:ID" or "16777216c:ID".
std::string IdPrefix(int64_t part, bool full_checksum) {
  return std::to_string(part) + (full_checksum ? "f:" : "c:");
}

Result<Resumed> Resume(Carrier& carrier, const std::string& key, int64_t part,
                       const std::string& id) {
  Resumed found;
  const bool full = StartsWith(id, IdPrefix(part, true));
  if (!full && !StartsWith(id, IdPrefix(part, false))) return found;
  const std::string upload = id.substr(id.find(':') + 1);
  auto parts = ListParts(carrier, key, upload);
  // Ended, aborted or swept meanwhile; or nothing that this service ever gave.
  if (parts.code() == Code::kInvalid || parts.code() == Code::kNotFound) return found;
  if (!parts.ok()) return parts.status();
  found.upload = {upload, full};
  found.parts = std::move(*parts);
  return found;
}

class Parts : public PartsUpload {
 public:
  Parts(Carrier& carrier, std::string key, ObjectInfo info, Condition condition, int64_t part,
        Resumed begun)
      : carrier_(carrier),
        key_(std::move(key)),
        info_(std::move(info)),
        condition_(std::move(condition)),
        part_(part),
        upload_(std::move(begun.upload)),
        id_(IdPrefix(part, upload_.full_checksum) + upload_.id),
        parts_(static_cast<size_t>((info_.size + part - 1) / part)) {
    for (auto& [number, done] : begun.parts) {
      const int n = number - 1;
      if (n >= static_cast<int>(parts_.size()) || done.size != SizeOf(n)) continue;
      done_[n] = {done.size, done.crc};
      parts_[static_cast<size_t>(n)] = std::move(done);
    }
  }

  const std::string& id() const override { return id_; }
  int64_t part_size() const override { return part_; }
  const std::map<int, PartSum>& done() const override { return done_; }
  bool parallel() const override { return true; }
  // Twice, as a request holds its body while it is sent.
  int64_t memory(const ObjectReader& from) const override {
    return from.fd() >= 0 ? kTransferBuffer : 2 * part_ + kTransferBuffer;
  }

  Result<PartSum> WritePart(int n, ObjectReader& from) override {
    if (n < 0 || n >= static_cast<int>(parts_.size())) {
      return Status(Code::kInternal, "part " + std::to_string(n) + " of " + key_);
    }
    const int64_t offset = n * part_;
    const int64_t size = SizeOf(n);
    std::string body;
    HttpFileBody file;
    uint32_t crc = 0;
    if (from.fd() >= 0) {
      file = {from.fd(), offset, size};
      STOKER_ASSIGN(crc, ChecksumOfRange(file.fd, offset, size));
    } else {
      STOKER_ASSIGN(body, ReadInto(from, offset, size));
      crc = Crc32c(body);
    }
    STOKER_ASSIGN(DonePart done,
                  SendPart(carrier_, key_, upload_.id, n + 1, crc, std::move(body), file));
    const std::lock_guard lock(mutex_);
    parts_[static_cast<size_t>(n)] = std::move(done);
    return PartSum{size, crc};
  }

  Result<ObjectInfo> Commit() override {
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i].etag.empty()) continue;
      return Status(Code::kInternal, key_ + ": part " + std::to_string(i) + " is missing");
    }
    STOKER_ASSIGN(info_.version, CompleteMultipart(carrier_, key_, upload_, parts_, condition_));
    return info_;
  }

  void Abort() override { (void)AbortMultipart(carrier_, key_, upload_.id); }

 private:
  int64_t SizeOf(int n) const { return std::min(part_, info_.size - n * part_); }

  Carrier& carrier_;
  const std::string key_;
  ObjectInfo info_;
  const Condition condition_;
  const int64_t part_;
  const Multipart upload_;
  const std::string id_;
  std::map<int, PartSum> done_;
  std::mutex mutex_;
  std::vector<DonePart> parts_;
};

// XML 1.0 has no way to write most control characters.
bool IsXmlText(const std::string& key) {
  return std::none_of(key.begin(), key.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

Request DeleteObjects(const std::vector<std::string>& keys) {
  Request request{.method = "POST", .query = "delete=", .body = "<Delete><Quiet>true</Quiet>"};
  for (const std::string& key : keys) {
    request.body += "<Object><Key>" + EscapeXml(key) + "</Key></Object>";
  }
  request.body += "</Delete>";
  request.headers.emplace_back("Content-Type", "application/xml");
  request.headers.emplace_back("x-amz-checksum-crc32c", Crc32cText(Crc32c(request.body)));
  request.headers.emplace_back("x-amz-sdk-checksum-algorithm", "CRC32C");
  return request;
}

// Those of `keys` that `answer` says are still there.
Result<std::vector<OddKey>> StillThere(Carrier& carrier, const std::string& what,
                                       const std::vector<std::string>& keys,
                                       const HttpResponse& answer) {
  STOKER_ASSIGN(const std::vector<NotDeleted> named, ParseDeleted(what, answer.body));
  const std::set<std::string_view> asked(keys.begin(), keys.end());
  std::vector<OddKey> out;
  for (const NotDeleted& each : named) {
    if (asked.count(each.key) == 0) {
      return Status(Code::kCorrupt, what + ": the answer names '" + Printable(each.key) +
                                        "', which was not to be deleted");
    }
    const std::string one = carrier.Describe({.method = "DELETE", .key = each.key});
    const Status status = FailureStatus(one, 200, each.why);
    if (!status.Is(Code::kNotFound)) out.push_back({each.key, status});
  }
  return out;
}

// Not ok: the service itself failed.
Status DeleteSome(bucket::RetryingCarrier& carrier, std::vector<std::string> keys,
                  std::vector<OddKey>* failed) {
  for (int next = 2;; ++next) {
    const Request request = DeleteObjects(keys);
    const auto answer = carrier.Call(request);
    auto there = answer.ok() ? StillThere(carrier, carrier.Describe(request), keys, *answer)
                             : Result<std::vector<OddKey>>(answer.status());
    Status again = there.status();
    if (there.ok()) {
      keys.clear();
      for (OddKey& each : *there) {
        if (!each.why.transient()) {
          failed->push_back(std::move(each));
          continue;
        }
        keys.push_back(each.key);
        again = each.why;
      }
      if (keys.empty()) return Status::Ok();
    }
    // A request that failed, the carrier has sent often enough.
    if (answer.ok() && carrier.Again(next, again, false)) continue;
    for (const std::string& key : keys) failed->push_back({key, again});
    return there.ok() ? Status::Ok() : again;
  }
}

}  // namespace

Result<Version> PutFrom(Carrier& carrier, const std::string& key, ObjectReader& from,
                        const Condition& condition) {
  const int64_t size = from.info().size;
  std::string body;
  HttpFileBody file;
  uint32_t crc = 0;
  if (from.fd() >= 0 && size > 0) {
    file = {from.fd(), 0, size};
    STOKER_ASSIGN(crc, ChecksumOfRange(file.fd, 0, size));
  } else {
    STOKER_ASSIGN(body, ReadInto(from, 0, size));
    crc = Crc32c(body);
  }
  // What changes from here on does not have the checksum: the service refuses it.
  STOKER_TRY(from.Confirm({{size, crc}}));
  STOKER_ASSIGN(const bool executable, from.Executable());
  return PutObject(carrier, key, std::move(body), file, crc, condition, {"", executable});
}

Result<std::unique_ptr<PartsUpload>> BeginParts(Carrier& carrier, std::string key, ObjectInfo info,
                                                Condition condition, int64_t part_bytes,
                                                const std::string& resume) {
  STOKER_TRY(CheckCondition(condition));
  const int64_t part = std::max(part_bytes, (info.size + kMostParts - 1) / kMostParts);
  Resumed begun;
  if (!resume.empty()) {
    STOKER_ASSIGN(begun, Resume(carrier, key, part, resume));
  }
  if (begun.upload.id.empty()) {
    STOKER_ASSIGN(begun.upload, BeginMultipart(carrier, key, info.executable));
  }
  return std::unique_ptr<PartsUpload>(std::make_unique<Parts>(
      carrier, std::move(key), std::move(info), std::move(condition), part, std::move(begun)));
}

std::vector<OddKey> DeleteAll(bucket::RetryingCarrier& carrier,
                              const std::vector<std::string>& keys) {
  std::vector<OddKey> failed;
  std::vector<std::string> some;
  Status away;
  const auto end = [&] {
    if (away.ok() && !some.empty()) {
      away = DeleteSome(carrier, some, &failed);
    } else {
      for (const std::string& key : some) failed.push_back({key, away});
    }
    some.clear();
  };
  for (const std::string& key : keys) {
    if (IsXmlText(key)) {
      some.push_back(key);
      if (some.size() == kMostDeletes) end();
      continue;
    }
    const Status one = away.ok() ? carrier.Call({.method = "DELETE", .key = key}).status() : away;
    if (one.transient()) away = one;
    if (!one.ok() && !one.Is(Code::kNotFound)) failed.push_back({key, one});
  }
  end();
  return failed;
}

}  // namespace stoker::s3
