// SPDX-License-Identifier: Apache-2.0
// Ranges of one version of an object of a bucket. Inside store/ only.
#pragma once

#include <functional>
#include <string>

#include "port/object_parts.h"
#include "store/bucket/retrying_carrier.h"

namespace stoker::bucket {

// How a service is asked for one version of an object, and for no other.
struct OneVersion {
  Request whole;  // all of it, with its checksum
  Request part;   // a Range header is added
  // Takes the headers of an answer: the Crc32cText of the whole object, "" = not told. kConflict:
  // they are of another version.
  std::function<Result<std::string>(const HttpHeaders& headers)> checksum;
};

// As ObjectReader::Read. What breaks off is asked for from there. Who reads all of it gets it
// checked against its checksum. kConflict: that version is not there (any more).
Status ReadOneVersion(RetryingCarrier& carrier, const OneVersion& version, int64_t object_size,
                      int64_t offset, int64_t size, const TakeBytes& take);

// That the parts, one behind the other, have the checksum `known` of the whole. Ok where one of
// them is not known. kCorrupt; `what` names the object.
Status CheckWhole(const std::string& what, const std::string& known,
                  const std::vector<PartSum>& parts);

}  // namespace stoker::bucket
