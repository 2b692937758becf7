// SPDX-License-Identifier: Apache-2.0
// Objects on their way out of Google Cloud Storage. Inside store/ only.
#pragma once

#include <memory>
#include <string>

#include "store/bucket/resuming_download.h"
#include "store/gcs/gcs_upload.h"

namespace stoker::gcs {

// Of `key` in the bucket; `info().key` is `name`. As it is stored: what was compressed before it
// was uploaded stays so.
Result<std::unique_ptr<bucket::BucketDownload>> OpenDownload(const Bucket& bucket,
                                                             const std::string& key,
                                                             const std::string& name);

// Ranges of the generation that `info` names, by several threads at once. Sends nothing yet; what
// `bucket` names outlives it.
std::unique_ptr<ObjectReader> OpenReader(const Bucket& bucket, std::string key, ObjectInfo info);

// Headers without which the service would decompress objects that say that they are gzip
// ("Transcoding of gzip-compressed files").
HttpHeaders AsStored();

}  // namespace stoker::gcs
