// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_boot.h"

#include "aws/config.h"
#include "base/text.h"
#include "net/percent.h"
#include "provider/cloud/cloud_boot.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/ec2/ec2_boot_scripts.h"

namespace stoker::ec2 {
namespace {

// Where the copies of the binary lie, as a URL that a digest is put behind.
std::string BlobBase(const cloud::Bucket& bucket, const Options& options) {
  const std::string below = PercentEncodePath(bucket.prefix) + "blobs/";
  if (!options.s3_endpoint.empty()) {
    std::string base = options.s3_endpoint;
    while (EndsWith(base, "/")) base.pop_back();
    return base + "/" + bucket.name + "/" + below;
  }
  const std::string region = AwsRegionalUrl("s3", options.store_region);
  // A name with dots fits no certificate.
  if (bucket.name.find('.') != std::string::npos) return region + "/" + bucket.name + "/" + below;
  return "https://" + bucket.name + "." + region.substr(8) + "/" + below;
}

std::string Env(const LaunchRequest& request, const Options& options, const cloud::Bucket& bucket) {
  using cloud::SetVariable;
  return SetVariable("LIMIT", std::to_string(std::max<int64_t>(request.limit.ms / 1000, 60))) +
         SetVariable("DIGEST", request.binary_digest) +
         SetVariable("PERIOD", std::to_string(options.blob_period)) +
         SetVariable("REGION", options.store_region) +
         SetVariable("BASE", BlobBase(bucket, options)) +
         SetVariable("S3_ENDPOINT", options.s3_endpoint) +
         SetVariable("EC2_ENDPOINT", options.ec2_endpoint) +
         "IMDS=${IMDS:-http://169.254.169.254}\nexport REGION IMDS\n";
}

}  // namespace

Result<std::string> UserData(const LaunchRequest& request, const Options& options) {
  STOKER_ASSIGN(const cloud::Bucket bucket,
                cloud::BucketOf(request.store_url, "s3://", "machines of EC2"));
  STOKER_TRY(cloud::CheckLines({request.store_url, options.s3_endpoint, options.ec2_endpoint,
                                options.store_region, request.binary_digest}));
  const std::string script = cloud::BootScript({Env(request, options, bucket),
                                                kRunScript,
                                                cloud::EncodeLaunch(request),
                                                kLaunchFile,
                                                {{"/opt/stoker/fetch.py", kFetchScript}}});
  std::string out =
      "#cloud-config\n# Written by stoker for one job: see docs/aws.md.\nbootcmd:\n"
      "  - - /bin/sh\n    - -c\n    - |\n";
  for (const std::string& line : Split(script, '\n')) {
    if (line.empty()) {
      out += "\n";
    } else {
      out += "      " + line + "\n";
    }
  }
  while (EndsWith(out, "\n\n")) out.pop_back();
  return out;
}

}  // namespace stoker::ec2
