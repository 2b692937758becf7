// SPDX-License-Identifier: Apache-2.0
#include "store/gcs/gcs_insert.h"

#include <utility>

#include "base/crc32c.h"
#include "base/text.h"
#include "store/bytes/file_range.h"
#include "store/gcs/gcs_condition.h"
#include "sys/file.h"

namespace stoker::gcs {
namespace {

// Of base64 of four bytes; stands in the body until the bytes behind it are known.
constexpr char kNoSum[] = "AAAAAA==";

// 128 random bits: no bytes have them by chance, and nobody knows them before.
std::string Boundary() { return "stoker-" + Hex64(sys::RandomU64()) + Hex64(sys::RandomU64()); }

// All before the bytes; `sum_at` becomes where the checksum stands.
std::string Before(const std::string& boundary, const std::string& sum, size_t* sum_at,
                   const std::string& type = "", bool executable = false) {
  const std::string is = type.empty() ? kContentType : type;
  std::string text = "--" + boundary + "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n" +
                     R"({"contentType":")" + is + '"';
  if (!type.empty()) text += std::string(R"(,"cacheControl":")") + bucket::kAskAnew + '"';
  if (executable) {
    text += std::string(R"(,"metadata":{")") + bucket::kExecutable + R"(":")" +
            bucket::kIsExecutable + "\"}";
  }
  text += R"(,"crc32c":")";
  *sum_at = text.size();
  return text + sum + "\"}\r\n--" + boundary + "\r\nContent-Type: " + is + "\r\n\r\n";
}

std::string After(const std::string& boundary) { return "\r\n--" + boundary + "--\r\n"; }

}  // namespace

Message MessageOf(std::string_view data, const std::string& type) {
  Message out;
  size_t sum_at = 0;
  out.boundary = Boundary();
  out.crc = Crc32c(data);
  out.body = Before(out.boundary, Crc32cText(out.crc), &sum_at, type);
  out.body += data;
  out.body += After(out.boundary);
  return out;
}

Result<Message> MessageOf(ObjectReader& from, int64_t offset, int64_t size) {
  Message out;
  size_t sum_at = 0;
  out.boundary = Boundary();
  STOKER_ASSIGN(const bool executable, from.Executable());
  if (from.fd() >= 0) {
    STOKER_ASSIGN(out.crc, ChecksumOfRange(from.fd(), offset, size));
    out.body = Before(out.boundary, Crc32cText(out.crc), &sum_at, "", executable);
    out.file = {from.fd(), offset, size, After(out.boundary)};
    return out;
  }
  out.body = Before(out.boundary, kNoSum, &sum_at, "", executable);
  const std::string after = After(out.boundary);
  out.body.reserve(out.body.size() + static_cast<size_t>(size) + after.size());
  STOKER_TRY(from.Read(offset, size, [&out](std::string_view piece) {
    out.crc = Crc32c(piece, out.crc);
    out.body += piece;
    return Status::Ok();
  }));
  out.body.replace(sum_at, sizeof kNoSum - 1, Crc32cText(out.crc));
  out.body += after;
  return out;
}

Result<Resource> Insert(const Bucket& bucket, const std::string& key, Message message,
                        const Condition& condition) {
  Request request = OnUpload(bucket.name, "multipart", key, ConditionQuery(condition));
  request.conditional = condition.kind != Condition::Kind::kNone;
  request.headers = {{"Content-Type", "multipart/related; boundary=" + message.boundary}};
  request.body = std::move(message.body);
  request.file = std::move(message.file);
  const auto answer = bucket.carrier.Call(request);
  if (!answer.ok()) return Meant(bucket, key, condition, answer.status());
  return Made(bucket, request, *answer, message.crc);
}

Result<Resource> Made(const Bucket& bucket, const Request& request, const HttpResponse& answer,
                      uint32_t crc, Version* wrong) {
  const std::string what = bucket.carrier.Describe(request);
  auto made = ParseResource(what, answer.body);
  const auto right = [&](const Result<Resource>& one) {
    return one.ok() && one->crc32c == Crc32cText(crc);
  };
  if (right(made) || (made.ok() && made->crc32c.empty())) return made;
  // The answer may have been damaged on its way, and what it tells of be whole, and all that there
  // is of a record.
  const auto look = bucket.carrier.Call(OnObject(bucket.name, "GET", request.key, ""));
  auto there = look.ok() ? ParseResource(what, look->body) : Result<Resource>(look.status());
  if (right(there)) return there;
  const bool said_twice = made.ok() && there.ok() && !there->crc32c.empty() &&
                          there->info.version == made->info.version &&
                          there->crc32c == made->crc32c;
  const std::string other = what + ": what is stored does not have the checksum of what was sent";
  if (!said_twice || request.conditional) {
    return Status(Code::kUnavailable, other + ", by an answer that may be damaged itself");
  }
  if (wrong != nullptr) *wrong = there->info.version;
  return Status(Code::kCorrupt, other);
}

}  // namespace stoker::gcs
