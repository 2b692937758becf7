// SPDX-License-Identifier: Apache-2.0
// One object in one request ("Objects: insert", uploadType=multipart: its metadata, which has the
// checksum, and then its bytes). The service refuses what does not have the checksum. Inside store/
// only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "port/object_parts.h"
#include "store/gcs/gcs_upload.h"

namespace stoker::gcs {

inline constexpr char kContentType[] = "application/octet-stream";

// A request's body: what stands before the bytes, the bytes, and what stands behind them.
struct Message {
  std::string boundary;  // a line that is nowhere in the bytes
  std::string body;
  HttpFileBody file;
  uint32_t crc = 0;
};
// `type` is what browsers are told that the bytes are; "" = nothing. They may keep what they have
// read, unless it has one: of a bucket that the public reads, an hour otherwise ("Cache-Control",
// Cloud Storage documentation).
Message MessageOf(std::string_view data, const std::string& type = "");
// [offset, offset + size) of `from`: read once for the checksum; a file's bytes are sent from where
// they are, others are held.
Result<Message> MessageOf(ObjectReader& from, int64_t offset, int64_t size);

// kExists, kConflict, kNotFound as ObjectStore::Put.
Result<Resource> Insert(const Bucket& bucket, const std::string& key, Message message,
                        const Condition& condition);

// What the service says in `answer` to `request` that it has made, compared with what it should
// have; where they differ, it is asked once more. Nothing is deleted. kCorrupt: it has said twice
// that it is another one, whose version is put into `wrong`, unless that is null. kUnavailable:
// nobody can tell what is there; so too for a write on a condition, which may be a record: who
// wrote it reads it back.
Result<Resource> Made(const Bucket& bucket, const Request& request, const HttpResponse& answer,
                      uint32_t crc, Version* wrong = nullptr);

}  // namespace stoker::gcs
