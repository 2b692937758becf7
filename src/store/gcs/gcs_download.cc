// SPDX-License-Identifier: Apache-2.0
#include "store/gcs/gcs_download.h"

#include <utility>

#include "net/percent.h"
#include "store/gcs/gcs_answer.h"

namespace stoker::gcs {
namespace {

Result<WallTime> WrittenAt(const Bucket& bucket, const std::string& key, const Version& version) {
  const Request request = OnObject(bucket.name, "GET", key, "generation=" + PercentEncode(version));
  STOKER_ASSIGN(const HttpResponse answer, bucket.carrier.Call(request));
  STOKER_ASSIGN(const Resource resource,
                ParseResource(bucket.carrier.Describe(request), answer.body));
  return resource.info.last_modified;
}

}  // namespace

HttpHeaders AsStored() { return {{"Accept-Encoding", "gzip"}}; }

Result<std::unique_ptr<bucket::BucketDownload>> OpenDownload(const Bucket& bucket,
                                                             const std::string& key,
                                                             const std::string& name) {
  Request request = OnObject(bucket.name, "GET", key, "alt=media");
  request.headers = AsStored();
  bucket::Opened opened;
  STOKER_ASSIGN(opened.answer, bucket.carrier.Open(request));
  STOKER_ASSIGN(Head head,
                ParseHead(bucket.carrier.Describe(request), opened.answer->head().headers));
  if (!head.modified) {
    STOKER_ASSIGN(head.info.last_modified, WrittenAt(bucket, key, head.info.version));
  }
  opened.info = std::move(head.info);
  opened.info.key = name;
  opened.checksum = std::move(head.crc32c);
  opened.same = OnObject(bucket.name, "GET", key,
                         "alt=media&generation=" + PercentEncode(opened.info.version));
  opened.same.headers = AsStored();
  return bucket::ReadResuming(bucket.carrier, std::move(opened));
}

}  // namespace stoker::gcs
