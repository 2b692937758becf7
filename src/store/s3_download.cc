// SPDX-License-Identifier: Apache-2.0
#include "store/s3_download.h"

#include <utility>

#include "store/s3_answer.h"

namespace stoker::s3 {
namespace {

// What the object's own checksum says about all of its bytes; "" = nothing. That of an object of
// several parts may be over the parts' checksums: it ends in "-<parts>" then.
std::string ChecksumOf(const HttpHeaders& headers) {
  const std::string* text = FindHeader(headers, "x-amz-checksum-crc32c");
  return text != nullptr && text->find('-') == std::string::npos ? *text : "";
}

}  // namespace

Result<std::unique_ptr<bucket::BucketDownload>> OpenDownload(bucket::RetryingCarrier& carrier,
                                                             const std::string& key,
                                                             const std::string& name) {
  const bucket::Request request{"GET", key, "", {{"x-amz-checksum-mode", "ENABLED"}}, "", {}};
  bucket::Opened opened;
  STOKER_ASSIGN(opened.answer, carrier.Open(request));
  const HttpHeaders& headers = opened.answer->head().headers;
  STOKER_ASSIGN(opened.info, InfoOf(carrier.Describe(request), headers));
  opened.info.key = name;
  opened.checksum = ChecksumOf(headers);
  opened.same = request;
  opened.same.headers = {{"If-Match", opened.info.version}};
  return bucket::ReadResuming(carrier, std::move(opened));
}

}  // namespace stoker::s3
