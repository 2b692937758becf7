// SPDX-License-Identifier: Apache-2.0
// The requests that write objects of S3, one function each. Inside store/ only; thread-safe.
// Source: Amazon S3 API reference (PutObject, CreateMultipartUpload, UploadPart, ListParts,
// CompleteMultipartUpload, AbortMultipartUpload).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "port/object_info.h"
#include "store/s3/s3_client.h"

namespace stoker::s3 {

inline constexpr int kMostParts = 10'000;

struct Multipart {
  std::string id;              // "" = none
  bool full_checksum = false;  // the object's checksum is over its bytes
};

struct DonePart {
  std::string etag;
  std::optional<uint32_t> crc;  // unset: the service does not tell
  int64_t size = 0;
};

// A version goes into a header as it is: kConflict for what can be none.
Status CheckCondition(const Condition& condition);

// What an object is besides its bytes.
struct Nature {
  std::string type = "";  // what browsers are told that it is; "" = nothing
  bool executable = false;
};

// One object of `data`, or of the bytes of `file`, whose checksum is `crc`. kExists / kConflict.
Result<Version> PutObject(Carrier& client, const std::string& key, std::string data,
                          const HttpFileBody& file, uint32_t crc, const Condition& condition,
                          const Nature& nature = {});

Result<Multipart> BeginMultipart(Carrier& client, const std::string& key, bool executable = false);
// Numbers begin at 1.
Result<DonePart> SendPart(Carrier& client, const std::string& key, const std::string& id,
                          int number, uint32_t crc, std::string body, const HttpFileBody& file);
// By number. kInvalid: there is no such upload (any more).
Result<std::map<int, DonePart>> ListParts(Carrier& client, const std::string& key,
                                          const std::string& id);
// `parts` are those numbered 1, 2, … The answer may get lost; asked again, some services know of no
// such upload any more: what lies there then is ours if it has our size, and our checksum or ETag.
Result<Version> CompleteMultipart(Carrier& client, const std::string& key, const Multipart& upload,
                                  const std::vector<DonePart>& parts, const Condition& condition);
Status AbortMultipart(Carrier& client, const std::string& key, const std::string& id);

std::string EscapeXml(const std::string& text);

}  // namespace stoker::s3
