// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_answer.h"

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>

#include "base/text.h"
#include "net/http_date.h"
#include "net/percent.h"

namespace stoker::s3 {
namespace {

// pugixml loads no external entity and expands none that a document defines.
Result<pugi::xml_document> Parse(const std::string& what, std::string_view xml,
                                 const char* document) {
  pugi::xml_document parsed;
  const pugi::xml_parse_result result =
      parsed.load_buffer(xml.data(), xml.size(), pugi::parse_minimal | pugi::parse_escapes);
  if (!result) {
    return Status(Code::kCorrupt, what + ": the answer is no XML: " + result.description());
  }
  if (std::string_view(parsed.document_element().name()) != document) {
    return Status(Code::kCorrupt, what + ": the answer is '" +
                                      Printable(parsed.document_element().name()) + "', not '" +
                                      document + "'");
  }
  return parsed;
}

Result<int64_t> Number(const std::string& what, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return Status(Code::kCorrupt, what + ": '" + Printable(text.substr(0, 40)) + "' is no size");
  }
  return value;
}

// As encoding-type=url writes it: a space as '+', a plus as %2B. A service that does not know that
// parameter says nothing of it in its answer, and writes the key as it is.
std::string DecodeKey(const pugi::xml_node& list, std::string key) {
  if (std::string_view(list.child_value("EncodingType")) != "url") return key;
  for (char& c : key) {
    if (c == '+') c = ' ';
  }
  return PercentDecode(key);
}

// kCorrupt, and not what a wrong time is elsewhere: the list is asked for once more.
Result<WallTime> TimeOf(const std::string& what, std::string_view text) {
  auto time = ParseRfc3339(text);
  if (time.ok()) return time;
  return Status(Code::kCorrupt, what + ": " + Printable(time.status().message()));
}

Result<ObjectInfo> ParseEntry(const std::string& what, const pugi::xml_node& entry,
                              const std::string& root) {
  ObjectInfo info;
  const std::string key = DecodeKey(entry.parent(), entry.child_value("Key"));
  if (!StartsWith(key, root)) {
    return Status(Code::kCorrupt, what + ": lists '" + Printable(key.substr(0, 200)) +
                                      "', which is not below what was asked for");
  }
  info.key = key.substr(root.size());
  STOKER_ASSIGN(info.size, Number(what, entry.child_value("Size")));
  info.version = entry.child_value("ETag");
  STOKER_ASSIGN(info.last_modified, TimeOf(what, entry.child_value("LastModified")));
  return info;
}

bool IsOneOf(std::string_view code, std::initializer_list<std::string_view> codes) {
  for (const std::string_view each : codes) {
    if (code == each) return true;
  }
  return false;
}

// The status that a code has of its own, for those that come inside of a 200.
int UsualStatus(std::string_view code) {
  if (code == "AccessDenied") return 403;
  if (code == "NoSuchKey") return 404;
  if (code == "ServiceUnavailable") return 503;
  const bool ours =
      StartsWith(code, "Invalid") || StartsWith(code, "Malformed") || code == "EntityTooSmall";
  return ours ? 400 : 500;
}

// What the code alone decides, whatever the status; then what that says.
Code CodeOf(int status, std::string_view code) {
  if (IsOneOf(code,
              {"SlowDown", "RequestLimitExceeded", "Throttling", "ThrottlingException",
               "RequestTimeTooSkewed", "ExpiredToken", "TokenRefreshRequired", "OperationAborted",
               "ConditionalRequestConflict", "RestoreAlreadyInProgress"})) {
    return Code::kBusy;
  }
  if (IsOneOf(code, {"RequestTimeout", "InternalError", "BadDigest", "IncompleteBody",
                     "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"})) {
    return Code::kUnavailable;  // what arrived is not what was sent: send it again
  }
  if (code == "PreconditionFailed") return Code::kConflict;  // also with 200, on completion
  if (IsOneOf(code, {"NoSuchBucket", "NoSuchUpload", "NotImplemented", "InvalidObjectState"})) {
    return Code::kInvalid;
  }
  switch (status == 200 ? UsualStatus(code) : status) {
    case 404:
      return Code::kNotFound;
    case 401:
    case 403:
      return Code::kDenied;
    case 409:
    case 429:
      return Code::kBusy;
    case 503:  // of a gateway, and not of S3, it says nothing about what happened behind it
      return code.empty() ? Code::kUnavailable : Code::kBusy;
    case 408:
      return Code::kUnavailable;
    case 412:
      return Code::kConflict;
    case 507:
      return Code::kNoSpace;
    default:
      return status >= 500 ? Code::kUnavailable : Code::kInvalid;
  }
}

std::string NextOf(Code status, std::string_view code) {
  // "Restoring an archived object" (Amazon S3 user guide): hours, and a copy that costs money.
  if (code == "InvalidObjectState") {
    return "Ask for it with 'aws s3api restore-object --bucket BUCKET --key KEY --restore-request "
           "Days=7', wait until it is there (hours), and give the same command again";
  }
  if (code == "NoSuchBucket") return "Make the bucket first, or look at its name in `store`";
  if (code == "NotImplemented") {
    return "This service lacks what stoker needs of S3: writes on a condition";
  }
  if (status == Code::kDenied) {
    return "Look at the credentials and their rights on the bucket: stoker doctor";
  }
  return "";
}

}  // namespace

Failure ParseFailure(const HttpResponse& answer) {
  Failure failure;
  if (const std::string* region = FindHeader(answer.headers, "x-amz-bucket-region")) {
    failure.region = *region;
  }
  auto parsed = Parse("", answer.body, "Error");
  if (!parsed.ok()) return failure;
  const pugi::xml_node error = parsed->document_element();
  failure.code = error.child_value("Code");
  failure.message = error.child_value("Message");
  failure.storage = error.child_value("StorageClass");
  if (failure.region.empty()) failure.region = error.child_value("Region");
  return failure;
}

Status FailureStatus(const std::string& what, int status, const Failure& failure) {
  const Code code = CodeOf(status, failure.code);
  if (failure.code == "InvalidObjectState") {
    const std::string in = failure.storage.empty() ? "an archive" : Printable(failure.storage);
    return Status(code,
                  what + ": the object is archived in " + in + ", and cannot be read as it is",
                  NextOf(code, failure.code));
  }
  std::string said = std::to_string(status);
  if (!failure.code.empty()) said += " " + Printable(failure.code.substr(0, 100));
  if (!failure.message.empty()) said += ": " + Printable(failure.message.substr(0, 300));
  return Status(code, what + ": the store answers " + said, NextOf(code, failure.code));
}

Result<ListPage> ParseListing(const std::string& what, std::string_view xml,
                              const std::string& root) {
  STOKER_ASSIGN(const pugi::xml_document parsed, Parse(what, xml, "ListBucketResult"));
  const pugi::xml_node list = parsed.document_element();
  ListPage page;
  for (const pugi::xml_node& entry : list.children("Contents")) {
    STOKER_ASSIGN(ObjectInfo info, ParseEntry(what, entry, root));
    page.listing.objects.push_back(std::move(info));
  }
  // The service counts them: what a flipped bit took away is noticed.
  const pugi::xml_node counted = list.child("KeyCount");
  if (counted && !list.child("CommonPrefixes")) {
    STOKER_ASSIGN(const int64_t count, Number(what, counted.child_value()));
    if (count != static_cast<int64_t>(page.listing.objects.size())) {
      return Status(Code::kCorrupt, what + ": a list of " + std::to_string(count) +
                                        " keys that has " +
                                        std::to_string(page.listing.objects.size()));
    }
  }
  const std::string_view truncated = list.child_value("IsTruncated");
  if (truncated != "true" && truncated != "false" && !truncated.empty()) {
    return Status(Code::kCorrupt, what + ": a list that is truncated or not: '" +
                                      Printable(truncated.substr(0, 40)) + "'");
  }
  if (truncated != "true") return page;
  if (!page.listing.objects.empty()) {
    page.listing.next = page.listing.objects.back().key;
    return page;
  }
  page.token = list.child_value("NextContinuationToken");
  if (!page.token.empty()) return page;
  return Status(Code::kCorrupt, what + ": a list that has more, but nothing in it");
}

Result<std::string> ElementOf(const std::string& what, std::string_view xml, const char* document,
                              const char* element) {
  STOKER_ASSIGN(const pugi::xml_document parsed, Parse(what, xml, document));
  return std::string(parsed.document_element().child_value(element));
}

Result<UploadList> ParseUploads(const std::string& what, std::string_view xml) {
  STOKER_ASSIGN(const pugi::xml_document parsed, Parse(what, xml, "ListMultipartUploadsResult"));
  const pugi::xml_node list = parsed.document_element();
  UploadList out;
  for (const pugi::xml_node& entry : list.children("Upload")) {
    STOKER_ASSIGN(const WallTime begun, TimeOf(what, entry.child_value("Initiated")));
    out.uploads.push_back(
        {DecodeKey(list, entry.child_value("Key")), entry.child_value("UploadId"), begun});
  }
  if (std::string_view(list.child_value("IsTruncated")) == "true") {
    out.next_key = DecodeKey(list, list.child_value("NextKeyMarker"));
    out.next_id = list.child_value("NextUploadIdMarker");
  }
  return out;
}

Result<PartList> ParseParts(const std::string& what, std::string_view xml) {
  // Services that speak as S3 does have called it otherwise, moto among them.
  const bool other = xml.find("<ListPartsResponse") != std::string_view::npos;
  STOKER_ASSIGN(const pugi::xml_document parsed,
                Parse(what, xml, other ? "ListPartsResponse" : "ListPartsResult"));
  const pugi::xml_node list = parsed.document_element();
  PartList out;
  for (const pugi::xml_node& entry : list.children("Part")) {
    ListedPart part;
    STOKER_ASSIGN(const int64_t number, Number(what, entry.child_value("PartNumber")));
    STOKER_ASSIGN(part.size, Number(what, entry.child_value("Size")));
    if (number < 1 || number > 10'000) return Status(Code::kCorrupt, what + ": an odd part number");
    part.number = static_cast<int>(number);
    part.etag = entry.child_value("ETag");
    part.checksum = entry.child_value("ChecksumCRC32C");
    out.parts.push_back(std::move(part));
  }
  if (std::string_view(list.child_value("IsTruncated")) == "true") {
    STOKER_ASSIGN(const int64_t next, Number(what, list.child_value("NextPartNumberMarker")));
    out.next = static_cast<int>(std::min<int64_t>(next, 10'000));
  }
  return out;
}

Result<std::vector<NotDeleted>> ParseDeleted(const std::string& what, std::string_view xml) {
  STOKER_ASSIGN(const pugi::xml_document parsed, Parse(what, xml, "DeleteResult"));
  std::vector<NotDeleted> out;
  for (const pugi::xml_node& error : parsed.document_element().children("Error")) {
    out.push_back(
        {error.child_value("Key"), {error.child_value("Code"), error.child_value("Message")}});
  }
  return out;
}

KnownSum ChecksumOf(const HttpHeaders& headers) {
  const std::string* text = FindHeader(headers, "x-amz-checksum-crc32c");
  if (text == nullptr) return {};
  const size_t dash = text->find('-');
  if (dash != std::string::npos) return {text->substr(0, dash), true};
  const std::string* etag = FindHeader(headers, "ETag");
  const std::string* type = FindHeader(headers, "x-amz-checksum-type");
  const bool parts = etag != nullptr && etag->find('-') != std::string::npos;
  if (parts && (type == nullptr || *type != "FULL_OBJECT")) return {};
  return {*text, false};
}

Result<ObjectInfo> InfoOf(const std::string& what, const HttpHeaders& headers) {
  ObjectInfo info;
  const std::string* size = FindHeader(headers, "Content-Length");
  const std::string* etag = FindHeader(headers, "ETag");
  const std::string* modified = FindHeader(headers, "Last-Modified");
  if (size == nullptr || etag == nullptr || modified == nullptr) {
    return Status(Code::kCorrupt,
                  what + ": the answer lacks Content-Length, ETag or Last-Modified");
  }
  STOKER_ASSIGN(info.size, Number(what, *size));
  info.version = *etag;
  const auto time = ParseHttpDate(*modified);
  if (!time.ok()) return time.status().WithContext(what);
  info.last_modified = *time;
  info.executable = FindHeader(headers, kExecutableHeader) != nullptr;
  return info;
}

}  // namespace stoker::s3
