// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_multipart.h"

#include <openssl/evp.h>

#include <utility>

#include "base/crc32c.h"
#include "base/digest.h"
#include "base/text.h"
#include "net/percent.h"
#include "store/s3/s3_answer.h"

namespace stoker::s3 {
namespace {

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

Result<std::string> EtagOf(const HttpResponse& answer, const std::string& what) {
  const std::string* etag = FindHeader(answer.headers, "ETag");
  if (etag == nullptr || etag->empty()) {
    return Status(Code::kCorrupt, what + ": the answer has no ETag");
  }
  return *etag;
}

std::string IdQuery(const std::string& id) { return "uploadId=" + PercentEncode(id); }

// Of what the parts make together; nullopt: that of one is not known.
std::optional<uint32_t> ChecksumOfAll(const std::vector<DonePart>& parts) {
  uint32_t crc = 0;
  for (const DonePart& part : parts) {
    if (!part.crc) return std::nullopt;
    crc = Crc32cCombine(crc, *part.crc, part.size);
  }
  return crc;
}

Request Completion(const std::string& key, const std::string& id,
                   const std::vector<DonePart>& parts, std::optional<uint32_t> whole,
                   const Condition& condition) {
  Request request{
      .method = "POST", .key = key, .query = IdQuery(id), .headers = ConditionHeaders(condition)};
  request.conditional = condition.kind != Condition::Kind::kNone;
  request.may_fail_late = true;
  if (whole) {
    request.headers.emplace_back("x-amz-checksum-type", "FULL_OBJECT");
    request.headers.emplace_back("x-amz-checksum-crc32c", Crc32cText(*whole));
  }
  request.body = "<CompleteMultipartUpload>";
  for (size_t i = 0; i < parts.size(); ++i) {
    request.body += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" +
                    EscapeXml(parts[i].etag) + "</ETag>";
    if (parts[i].crc) {
      request.body += "<ChecksumCRC32C>" + Crc32cText(*parts[i].crc) + "</ChecksumCRC32C>";
    }
    request.body += "</Part>";
  }
  request.body += "</CompleteMultipartUpload>";
  return request;
}

std::string Md5(const std::string& bytes) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  const bool done =
      EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
                 EVP_md5(), nullptr) == 1;
  digest.resize(done ? size : 0);
  return digest;
}

// The bytes of an ETag that is an MD5, quoted or not; "" = it is none.
std::string Md5Of(const std::string& etag) {
  std::string digits;
  for (const char c : etag) {
    if (c != '"') digits += c;
  }
  if (digits.size() != 32 || digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return "";
  }
  std::string out;
  for (size_t i = 0; i < digits.size(); i += 2) {
    out += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return out;
}

// The ETag that S3 gives to what is made of these parts: the MD5 of their MD5s, and their number.
// "" = it cannot be told, as parts are encrypted, or the service has ETags of its own.
std::string EtagOfAll(const std::vector<DonePart>& parts) {
  std::string sums;
  for (const DonePart& part : parts) {
    const std::string sum = Md5Of(part.etag);
    if (sum.empty()) return "";
    sums += sum;
  }
  const std::string all = Md5(sums);
  return all.empty() ? "" : "\"" + HexOf(all) + "-" + std::to_string(parts.size()) + "\"";
}

// What is there, if it is what the parts make: by its size, and by its checksum or its ETag.
Result<Version> FindCompleted(Carrier& client, const std::string& key,
                              const std::vector<DonePart>& parts, std::optional<uint32_t> whole) {
  const Request head{.method = "HEAD", .key = key, .headers = {{"x-amz-checksum-mode", "ENABLED"}}};
  STOKER_ASSIGN(const HttpResponse answer, client.Call(head));
  STOKER_ASSIGN(const ObjectInfo info, InfoOf(client.Describe(head), answer.headers));
  const std::string* checksum = FindHeader(answer.headers, "x-amz-checksum-crc32c");
  int64_t size = 0;
  for (const DonePart& part : parts) size += part.size;
  const bool same_sum = whole && checksum != nullptr && *checksum == Crc32cText(*whole);
  const std::string etag = EtagOfAll(parts);
  const bool same_etag = !etag.empty() && info.version == etag;
  if (info.size != size || !(same_sum || same_etag)) {
    return Status(Code::kNotFound, "something else is there");
  }
  return info.version;
}

}  // namespace

std::string EscapeXml(const std::string& text) {
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

Status CheckCondition(const Condition& condition) {
  if (condition.kind != Condition::Kind::kMatch) return Status::Ok();
  if (!condition.version.empty() && condition.version.find_first_of("\r\n") == std::string::npos) {
    return Status::Ok();
  }
  return Status(Code::kConflict, "'" + Printable(condition.version) + "' is no version");
}

Result<Version> PutObject(Carrier& client, const std::string& key, std::string data,
                          const HttpFileBody& file, uint32_t crc, const Condition& condition,
                          const Nature& nature) {
  STOKER_TRY(CheckCondition(condition));
  Request request{.method = "PUT",
                  .key = key,
                  .headers = ConditionHeaders(condition),
                  .body = std::move(data),
                  .file = file};
  request.conditional = condition.kind != Condition::Kind::kNone;
  request.headers.emplace_back("x-amz-checksum-crc32c", Crc32cText(crc));
  if (!nature.type.empty()) {
    request.headers.emplace_back("Content-Type", nature.type);
    request.headers.emplace_back("Cache-Control", bucket::kAskAnew);
  }
  if (nature.executable) request.headers.emplace_back(kExecutableHeader, bucket::kIsExecutable);
  const auto answer = client.Call(request);
  if (!answer.ok()) return Meant(condition, answer.status(), client.Describe(request));
  return EtagOf(*answer, client.Describe(request));
}

Result<Multipart> BeginMultipart(Carrier& client, const std::string& key, bool executable) {
  Request request{.method = "POST", .key = key, .query = "uploads="};
  request.headers = {{"x-amz-checksum-algorithm", "CRC32C"},
                     {"x-amz-checksum-type", "FULL_OBJECT"}};
  if (executable) request.headers.emplace_back(kExecutableHeader, bucket::kIsExecutable);
  STOKER_ASSIGN(const HttpResponse answer, client.Call(request));
  Multipart upload;
  // Services that do not know it make a checksum of the parts' checksums, as S3 did before 2025.
  const std::string* type = FindHeader(answer.headers, "x-amz-checksum-type");
  upload.full_checksum = type != nullptr && *type == "FULL_OBJECT";
  STOKER_ASSIGN(upload.id, ElementOf(client.Describe(request), answer.body,
                                     "InitiateMultipartUploadResult", "UploadId"));
  if (!upload.id.empty()) return upload;
  return Status(Code::kCorrupt, client.Describe(request) + ": the answer has no UploadId");
}

Result<DonePart> SendPart(Carrier& client, const std::string& key, const std::string& id,
                          int number, uint32_t crc, std::string body, const HttpFileBody& file) {
  DonePart done;
  done.size = file.fd >= 0 ? file.size : static_cast<int64_t>(body.size());
  done.crc = crc;
  Request request{.method = "PUT", .key = key, .body = std::move(body), .file = file};
  request.query = "partNumber=" + std::to_string(number) + "&" + IdQuery(id);
  request.headers.emplace_back("x-amz-checksum-crc32c", Crc32cText(crc));
  STOKER_ASSIGN(const HttpResponse answer, client.Call(request));
  STOKER_ASSIGN(done.etag, EtagOf(answer, client.Describe(request)));
  return done;
}

Result<std::map<int, DonePart>> ListParts(Carrier& client, const std::string& key,
                                          const std::string& id) {
  std::map<int, DonePart> parts;
  PartList page;
  do {
    Request request{.method = "GET", .key = key, .query = IdQuery(id)};
    if (page.next > 0) request.query += "&part-number-marker=" + std::to_string(page.next);
    const int before = page.next;
    STOKER_ASSIGN(const HttpResponse answer, client.Call(request));
    STOKER_ASSIGN(page, ParseParts(client.Describe(request), answer.body));
    for (ListedPart& part : page.parts) {
      parts[part.number] = {std::move(part.etag), ParseCrc32cText(part.checksum), part.size};
    }
    if (page.next != 0 && page.next <= before) {
      return Status(Code::kCorrupt, client.Describe(request) + ": a list that does not go on");
    }
  } while (page.next != 0);
  return parts;
}

Result<Version> CompleteMultipart(Carrier& client, const std::string& key, const Multipart& upload,
                                  const std::vector<DonePart>& parts, const Condition& condition) {
  STOKER_TRY(CheckCondition(condition));
  const auto whole = upload.full_checksum ? ChecksumOfAll(parts) : std::nullopt;
  const Request request = Completion(key, upload.id, parts, whole, condition);
  const std::string what = client.Describe(request);
  const auto answer = client.Call(request);
  if (answer.ok()) {
    STOKER_ASSIGN(std::string etag,
                  ElementOf(what, answer->body, "CompleteMultipartUploadResult", "ETag"));
    if (etag.empty()) return Status(Code::kCorrupt, what + ": the answer has no ETag");
    return etag;
  }
  if (answer.status().message().find("NoSuchUpload") != std::string::npos) {
    auto version = FindCompleted(client, key, parts, whole);
    if (version.ok()) return version;
  }
  return Meant(condition, answer.status(), what);
}

Status AbortMultipart(Carrier& client, const std::string& key, const std::string& id) {
  return client.Call({.method = "DELETE", .key = key, .query = IdQuery(id)}).status();
}

}  // namespace stoker::s3
