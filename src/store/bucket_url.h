// SPDX-License-Identifier: Apache-2.0
// URLs of buckets, for the adapters of store/ alone.
#pragma once

#include <string>

namespace stoker {

// "scheme://bucket/a/b/" of which the scheme is known: its bucket and "a/b".
struct BucketUrl {
  std::string bucket;
  std::string prefix;
};
BucketUrl ParseBucketUrl(const std::string& url);

}  // namespace stoker
