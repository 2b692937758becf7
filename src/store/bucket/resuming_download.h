// SPDX-License-Identifier: Apache-2.0
// Objects on their way out of a bucket. Inside store/ only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "port/object_store.h"
#include "store/bucket/retrying_carrier.h"

namespace stoker::bucket {

class BucketDownload : public Download {
 public:
  // The service's clock when it began to answer.
  virtual WallTime store_now() const = 0;
};

struct Opened {
  std::unique_ptr<HttpAnswer> answer;
  ObjectInfo info;
  std::string checksum;  // Crc32cText of the whole; "" = the service does not know it
  // Asks for the very same version, and for no other; a Range header is added.
  Request same;
};

// When the body breaks off, the rest is asked for: kConflict when that version is gone. What was
// read is checked at the end against the checksum. `carrier` outlives it.
std::unique_ptr<BucketDownload> ReadResuming(RetryingCarrier& carrier, Opened opened);

// All of it, with its checksum checked. kNoSpace: too large to be held; `what` names it.
Result<Object> ReadObject(BucketDownload& download, const std::string& what);

// What `once` reads. When the bytes are not those of the checksum, or the connection broke and by
// the time the rest was asked for the object was another one, it begins anew, of what is there now.
Result<Object> ReadAnew(RetryingCarrier& carrier, const std::function<Result<Object>()>& once);

}  // namespace stoker::bucket
