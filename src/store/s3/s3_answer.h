// SPDX-License-Identifier: Apache-2.0
// What S3 answers, as stoker's words; inside store/ only. Pure. Source: Amazon S3 API reference
// (error responses, ListObjectsV2, multipart uploads).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "net/http_message.h"
#include "port/object_store.h"

namespace stoker::s3 {

// "User-defined object metadata" (Amazon S3 user guide): bucket::kExecutable.
inline constexpr char kExecutableHeader[] = "x-amz-meta-stoker-executable";

struct Failure {
  std::string code;          // "SlowDown", "NoSuchKey"; "" where there was no body (HEAD)
  std::string message;       // the service's own
  std::string region = "";   // the bucket's, where the answer tells it
  std::string storage = "";  // the object's class, where that is why: "GLACIER"
};

// Never fails: what is no error document has no code.
Failure ParseFailure(const HttpResponse& answer);

// `what` says the request, "PUT bucket/key". 409 is kBusy: it had no effect, and may be sent again.
// 412 is kConflict: whoever sent the condition knows what it means. Of a `status` of 200, with the
// failure inside, the code alone tells.
Status FailureStatus(const std::string& what, int status, const Failure& failure);

struct ListPage {
  Listing listing;    // `next` is the last key where there is more
  std::string token;  // of a page that has nothing in it, though there is more: how to get on
};
// Of ListObjectsV2 with encoding-type=url. `root` is cut off the keys; keys that do not begin with
// it are corrupt.
Result<ListPage> ParseListing(const std::string& what, std::string_view xml,
                              const std::string& root);

// The text of the first element of that name below the document's own, "" = there is none.
// kCorrupt: no XML, or the document is called otherwise.
Result<std::string> ElementOf(const std::string& what, std::string_view xml, const char* document,
                              const char* element);

struct StaleUpload {
  std::string key;
  std::string id;
  WallTime begun;
};
struct UploadList {
  std::vector<StaleUpload> uploads;
  std::string next_key, next_id;  // both "" = no more
};
// Of ListMultipartUploads with encoding-type=url.
Result<UploadList> ParseUploads(const std::string& what, std::string_view xml);

struct ListedPart {
  int number = 0;
  std::string etag;
  std::string checksum;  // CRC32C; "" = not told
  int64_t size = 0;
};
struct PartList {
  std::vector<ListedPart> parts;
  int next = 0;  // the marker of the next page; 0 = no more
};
// Of ListParts.
Result<PartList> ParseParts(const std::string& what, std::string_view xml);

struct NotDeleted {
  std::string key;
  Failure why;
};
// Of DeleteObjects: those that it names as failed.
Result<std::vector<NotDeleted>> ParseDeleted(const std::string& what, std::string_view xml);

// What the object's own CRC32C says of all of its bytes, or of its parts' checksums one behind the
// other: that of an object of several parts ends in "-<parts>" then. Believed of such an object
// only where the service says which of the two it is: emulators have told others.
struct KnownSum {
  std::string text;  // "" = nothing
  bool over_parts = false;
};
KnownSum ChecksumOf(const HttpHeaders& headers);

// Size, version and time out of the headers of GET or HEAD. kCorrupt: one is missing.
Result<ObjectInfo> InfoOf(const std::string& what, const HttpHeaders& headers);

}  // namespace stoker::s3
