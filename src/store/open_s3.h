// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "store/s3/s3_store.h"

namespace stoker {

// "s3://bucket" or "s3://bucket/prefix", with the credentials, the region and the endpoint that the
// user's other AWS tools would use (aws/). Sends nothing yet.
Result<S3StoreOptions> FindS3Options(const std::string& url);
// A store of these. `type_of` as S3StoreOptions.
Result<std::unique_ptr<ObjectStore>> OpenS3(
    const std::string& url, std::function<bool()> stopped,
    std::function<std::string(const std::string& key)> type_of = {});

// The region that the bucket of "s3://bucket/prefix" is in, and the endpoint that the user has set
// for S3; "" = Amazon's. Asks the service unless another than Amazon's is set.
struct S3Place {
  std::string region;
  std::string endpoint;
};
Result<S3Place> FindS3Place(const std::string& url);

// Whom Amazon takes `credentials` for. kNotFound: they are for another service, which nobody asks.
Result<std::string> FindS3Caller(const AwsCredentials& credentials);

}  // namespace stoker
