// SPDX-License-Identifier: Apache-2.0
// Objects on their way out of S3. Inside store/ only.
#pragma once

#include <memory>
#include <string>

#include "store/bucket/resuming_download.h"

namespace stoker::s3 {

// Of `key` below the bucket; `info().key` is `name`.
Result<std::unique_ptr<bucket::BucketDownload>> OpenDownload(bucket::RetryingCarrier& carrier,
                                                             const std::string& key,
                                                             const std::string& name);

}  // namespace stoker::s3
