// SPDX-License-Identifier: Apache-2.0
#include "store/bucket_url.h"

#include "base/text.h"

namespace stoker {

BucketUrl ParseBucketUrl(const std::string& url) {
  std::string rest = url.substr(url.find("://") + 3);
  while (EndsWith(rest, "/")) rest.pop_back();
  const size_t slash = rest.find('/');
  BucketUrl out{rest.substr(0, slash), ""};
  if (slash != std::string::npos) out.prefix = rest.substr(slash + 1);
  return out;
}

}  // namespace stoker
