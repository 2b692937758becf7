// SPDX-License-Identifier: Apache-2.0
// Objects on their way out of S3. Inside store/ only.
#pragma once

#include <memory>
#include <string>

#include "port/object_store.h"
#include "store/s3_retrying.h"

namespace stoker::s3 {

class S3Download : public Download {
 public:
  // The service's clock when it began to answer.
  virtual WallTime store_now() const = 0;
};

// Of `key` below the bucket; `info().key` is `name`. When the body breaks off, the rest is asked
// for, of the same version and of no other: kConflict when that is gone. Where the service knows
// the checksum of the whole, what was read is checked against it at the end. `carrier` outlives it.
Result<std::unique_ptr<S3Download>> OpenDownload(RetryingCarrier& carrier, const std::string& key,
                                                 const std::string& name);

}  // namespace stoker::s3
