// SPDX-License-Identifier: Apache-2.0
#include "store/open_s3.h"

#include <utility>

#include "aws/account/account.h"
#include "aws/caller.h"
#include "aws/config.h"
#include "base/text.h"
#include "net/system.h"
#include "store/bucket_url.h"
#include "store/s3/s3_store.h"

namespace stoker {
Result<S3StoreOptions> FindS3Options(const std::string& url) {
  S3StoreOptions options;
  BucketUrl place = ParseBucketUrl(url);
  options.client.bucket = std::move(place.bucket);
  options.prefix = std::move(place.prefix);
  STOKER_ASSIGN(const AwsAccount world, FindAwsAccount());
  const AwsConfig& config = world.config;
  options.client.region = AwsRegion(world.outside, config);
  STOKER_ASSIGN(options.client.endpoint, AwsEndpointUrl(world.outside, config, "s3"));
  options.client.variant = AwsVariantOf(world.outside, config, "s3");
  const std::string* style = config.Find(config.profile, "s3.addressing_style");
  if (style != nullptr && *style == "path") options.client.path_style = true;
  if (style != nullptr && *style == "virtual") options.client.path_style = false;
  auto keys = std::make_shared<AwsKeys>(world.outside);
  options.client.credentials = [keys] { return keys->Get(); };
  options.client.credentials_refused = [keys] { keys->Refused(); };
  options.client.now = SystemNow;
  options.client.http = world.http;
  options.seed = SystemSeed();
  return options;
}

Result<std::unique_ptr<ObjectStore>> OpenS3(
    const std::string& url, std::function<bool()> stopped,
    std::function<std::string(const std::string& key)> type_of) {
  STOKER_ASSIGN(S3StoreOptions options, FindS3Options(url));
  options.stopped = std::move(stopped);
  options.type_of = std::move(type_of);
  STOKER_ASSIGN(auto store, S3Store::Open(std::move(options)));
  return std::unique_ptr<ObjectStore>(std::move(store));
}

// Any answer names the region, also a refusal. Source: "HeadBucket" (S3 API reference).
Result<S3Place> FindS3Place(const std::string& url) {
  STOKER_ASSIGN(const S3StoreOptions options, FindS3Options(url));
  const s3::Options& client = options.client;
  S3Place place{client.region.empty() ? "us-east-1" : client.region, client.endpoint};
  if (!place.endpoint.empty()) return place;
  STOKER_ASSIGN(const HttpUrl service,
                ParseHttpUrl(AwsRegionalUrl("s3", place.region, client.variant)));
  HttpRequest request;
  request.method = "HEAD";
  request.target = "/" + client.bucket;
  request.headers = {{"Host", HostHeader(service)}};
  HttpPool pool(client.http);
  const auto answer = pool.Call(service, request);
  if (!answer.ok()) return answer.status().WithContext("asking S3 for the region of " + url);
  const std::string* region = FindHeader(answer->headers, "x-amz-bucket-region");
  if (region != nullptr && IsSafeName(*region)) place.region = *region;
  return place;
}

Result<std::string> FindS3Caller(const AwsCredentials& credentials) {
  STOKER_ASSIGN(const AwsAccount world, FindAwsAccount());
  STOKER_ASSIGN(const std::string s3, AwsEndpointUrl(world.outside, world.config, "s3"));
  STOKER_ASSIGN(const std::string sts, AwsEndpointUrl(world.outside, world.config, "sts"));
  if (!s3.empty() && sts.empty()) return Status(Code::kNotFound, "the store is not Amazon's");
  return CallerArn(world.outside, world.config, credentials);
}

}  // namespace stoker
