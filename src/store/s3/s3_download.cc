// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_download.h"

#include <utility>

#include "store/s3/s3_answer.h"

namespace stoker::s3 {
namespace {

// Of all of its bytes; "" = nothing is known.
std::string WholeSum(const HttpHeaders& headers) {
  const KnownSum known = ChecksumOf(headers);
  return known.over_parts ? "" : known.text;
}

}  // namespace

Result<std::unique_ptr<bucket::BucketDownload>> OpenDownload(bucket::RetryingCarrier& carrier,
                                                             const std::string& key,
                                                             const std::string& name) {
  const bucket::Request request{
      .method = "GET", .key = key, .headers = {{"x-amz-checksum-mode", "ENABLED"}}};
  bucket::Opened opened;
  STOKER_ASSIGN(opened.answer, carrier.Open(request));
  const HttpHeaders& headers = opened.answer->head().headers;
  STOKER_ASSIGN(opened.info, InfoOf(carrier.Describe(request), headers));
  opened.info.key = name;
  opened.checksum = WholeSum(headers);
  opened.same = request;
  opened.same.headers = {{"If-Match", opened.info.version}};
  return bucket::ReadResuming(carrier, std::move(opened));
}

}  // namespace stoker::s3
