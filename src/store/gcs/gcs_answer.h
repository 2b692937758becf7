// SPDX-License-Identifier: Apache-2.0
// What Google Cloud Storage answers, as stoker's words; inside store/ only. Pure. Source: "Cloud
// Storage JSON API": HTTP status and error codes, Objects resource, Objects: list, resumable
// uploads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "net/http_message.h"
#include "port/object_store.h"

namespace stoker::gcs {

// `what` says the request, "PUT gs://bucket/key". 429 is kBusy: it had no effect, and may be sent
// again; of 5xx nobody knows. 412 is kConflict: whoever sent the condition knows what it means.
Status FailureStatus(const std::string& what, const HttpResponse& refusal);

struct Resource {
  ObjectInfo info;     // by its whole name in the bucket; the time in whole seconds, as Date has it
  std::string crc32c;  // Crc32cText; "" = the service does not say
  bool standard = true;  // of STANDARD storage, or the service does not say
  bool held = false;     // something keeps it from being deleted
};
// kCorrupt: something is missing.
Result<Resource> ParseResource(const std::string& what, const std::string& json);

struct Page {
  Listing listing;                     // without `next`
  std::vector<std::string> checksums;  // of each, where they were asked for
  std::string page_token;              // "" = no more
};
// `root` is cut off the keys; keys that do not begin with it are corrupt.
Result<Page> ParsePage(const std::string& what, const std::string& json, const std::string& root);

// Out of the headers of a download of all of an object. kCorrupt: one is missing. `modified` false:
// there was no Last-Modified, which the JSON API does not promise.
struct Head {
  ObjectInfo info;
  std::string crc32c;
  bool modified = false;
};
Result<Head> ParseHead(const std::string& what, const HttpHeaders& headers);

// Of the whole object, out of the headers of a download of it or of a part: Crc32cText; "" = none.
std::string ChecksumOf(const HttpHeaders& headers);

// How many bytes the session has, out of an answer of 308: "Range: bytes=0-524287"; without that
// header none. kCorrupt: not such a header.
Result<int64_t> ParseStored(const std::string& what, const HttpHeaders& headers);

}  // namespace stoker::gcs
