// SPDX-License-Identifier: Apache-2.0
// What the adapters of buckets take from this machine; inside store/ only.
#pragma once

#include <string>

#include "net/host.h"

namespace stoker {

// "scheme://bucket/a/b/" of which the scheme is known: its bucket and "a/b".
struct BucketUrl {
  std::string bucket;
  std::string prefix;
};
BucketUrl ParseBucketUrl(const std::string& url);

}  // namespace stoker
