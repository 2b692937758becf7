// SPDX-License-Identifier: Apache-2.0
#include "store/gcs/gcs_answer.h"

#include <charconv>

#include "base/json.h"
#include "base/text.h"
#include "net/http_date.h"
#include "store/bucket/carrier.h"

namespace stoker::gcs {
namespace {

using Json = nlohmann::json;

// The text of a member, "" = it has none. 64-bit numbers are texts too in this API.
std::string Text(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

bool IsTrue(const Json& object, const char* name) {
  if (!object.is_object()) return false;
  const auto at = object.find(name);
  return at != object.end() && at->is_boolean() && at->get<bool>();
}

Result<int64_t> Number(const std::string& what, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) {
    return Status(Code::kCorrupt, what + ": '" + Printable(text.substr(0, 40)) + "' is no number");
  }
  return value;
}

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  for (const std::string_view each : words) {
    if (word == each) return true;
  }
  return false;
}

Code CodeOf(int status, std::string_view reason) {
  // Limits come as 403 too.
  if (IsOneOf(reason, {"rateLimitExceeded", "userRateLimitExceeded"})) return Code::kBusy;
  switch (status) {
    case 404:
    case 410:
      return Code::kNotFound;
    case 401:
    case 403:
      return Code::kDenied;
    case 409:
    case 429:
      return Code::kBusy;
    case 408:
      return Code::kUnavailable;
    case 412:
      return Code::kConflict;
    default:
      return status >= 500 ? Code::kUnavailable : Code::kInvalid;
  }
}

Result<Resource> ResourceOf(const std::string& what, const Json& object) {
  Resource out;
  out.info.key = Text(object, "name");
  out.info.version = Text(object, "generation");
  out.info.executable = object.is_object() && object.contains("metadata") &&
                        Text(object["metadata"], bucket::kExecutable) == bucket::kIsExecutable;
  out.crc32c = Text(object, "crc32c");
  const std::string storage = Text(object, "storageClass");
  out.standard = storage.empty() || storage == "STANDARD";
  out.held = IsTrue(object, "eventBasedHold") || IsTrue(object, "temporaryHold") ||
             !Text(object, "retentionExpirationTime").empty();
  STOKER_ASSIGN(out.info.size, Number(what, Text(object, "size")));
  STOKER_ASSIGN(const int64_t generation, Number(what, out.info.version));
  // When this generation was written; `updated` moves with its metadata too.
  const auto created = ParseRfc3339(Text(object, "timeCreated"));
  if (!created.ok() || out.info.key.empty() || generation == 0) {
    return Status(Code::kCorrupt, what + ": an object without name, generation or time");
  }
  out.info.last_modified = {created->ms - created->ms % 1000};
  return out;
}

}  // namespace

Status FailureStatus(const std::string& what, const HttpResponse& refusal) {
  std::string reason;
  std::string message;
  const Json json = Json::parse(refusal.body, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("error") && json["error"].is_object()) {
    const Json& error = json["error"];
    message = Text(error, "message");
    if (error.contains("errors") && error["errors"].is_array() && !error["errors"].empty()) {
      reason = Text(error["errors"][0], "reason");
    }
  } else if (json.is_discarded()) {
    message = refusal.body;  // downloads and uploads are refused in plain words
  }
  Code code = CodeOf(refusal.status, reason);
  std::string next;
  if (code == Code::kNotFound && message.find("bucket does not exist") != std::string::npos) {
    code = Code::kInvalid;
    next = "Make the bucket first, or look at its name in `store`";
  } else if (code == Code::kDenied) {
    next = "Look at the credentials and their rights on the bucket: stoker doctor";
  }
  std::string said = std::to_string(refusal.status);
  if (!reason.empty()) said += " " + Printable(reason.substr(0, 100));
  if (!message.empty()) said += ": " + Printable(message.substr(0, 300));
  return Status(code, what + ": the store answers " + said, next);
}

Result<Resource> ParseResource(const std::string& what, const std::string& json) {
  return ResourceOf(what, Json::parse(json, nullptr, /*allow_exceptions=*/false));
}

Result<Page> ParsePage(const std::string& what, const std::string& json, const std::string& root) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return Status(Code::kCorrupt, what + ": the answer is no JSON object");
  Page page;
  page.page_token = Text(parsed, "nextPageToken");
  const auto items = parsed.find("items");
  if (items == parsed.end()) return page;
  if (!items->is_array()) return Status(Code::kCorrupt, what + ": the answer's items are no list");
  for (const Json& item : *items) {
    STOKER_ASSIGN(Resource resource, ResourceOf(what, item));
    if (!StartsWith(resource.info.key, root)) {
      return Status(Code::kCorrupt, what + ": lists '" +
                                        Printable(resource.info.key.substr(0, 200)) +
                                        "', which is not below what was asked for");
    }
    resource.info.key.erase(0, root.size());
    page.listing.objects.push_back(std::move(resource.info));
    page.checksums.push_back(std::move(resource.crc32c));
  }
  return page;
}

// "x-goog-hash: crc32c=…,md5=…", or a header for each.
std::string ChecksumOf(const HttpHeaders& headers) {
  for (const auto& [name, value] : headers) {
    const HttpHeaders one{{name, ""}};
    if (FindHeader(one, "x-goog-hash") == nullptr) continue;
    for (std::string hash : Split(value, ',')) {
      while (StartsWith(hash, " ")) hash.erase(0, 1);
      if (StartsWith(hash, "crc32c=")) return hash.substr(7);
    }
  }
  return "";
}

Result<Head> ParseHead(const std::string& what, const HttpHeaders& headers) {
  Head out;
  const std::string* generation = FindHeader(headers, "x-goog-generation");
  // What is stored, and not what some encoding has made of it on the way.
  const std::string* size = FindHeader(headers, "x-goog-stored-content-length");
  if (size == nullptr) size = FindHeader(headers, "Content-Length");
  if (generation == nullptr || size == nullptr) {
    return Status(Code::kCorrupt, what + ": the answer lacks x-goog-generation or its length");
  }
  out.info.version = *generation;
  STOKER_ASSIGN(out.info.size, Number(what, *size));
  out.crc32c = ChecksumOf(headers);
  const std::string* modified = FindHeader(headers, "Last-Modified");
  if (modified == nullptr) return out;
  const auto time = ParseHttpDate(*modified);
  if (!time.ok()) return time.status().WithContext(what);
  out.info.last_modified = *time;
  out.modified = true;
  return out;
}

Result<int64_t> ParseStored(const std::string& what, const HttpHeaders& headers) {
  const std::string* range = FindHeader(headers, "Range");
  if (range == nullptr) return int64_t{0};
  const std::string begin = "bytes=0-";
  if (!StartsWith(*range, begin)) {
    return Status(Code::kCorrupt, what + ": a range that does not begin at 0");
  }
  STOKER_ASSIGN(const int64_t last, Number(what, range->substr(begin.size())));
  return last + 1;
}

}  // namespace stoker::gcs
