// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_boot.h"

#include "aws/config.h"
#include "base/json_fields.h"
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

// What gcloud writes for them, too: it says where a token is to be had, and has no secret. Source:
// `gcloud iam workload-identity-pools create-cred-config --aws --enable-imdsv2`; AIP-4117.
std::string GoogleFile(const Options& options) {
  const std::string metadata = "http://169.254.169.254/latest/";
  json::Value out = {
      {"type", "external_account"},
      {"audience", "//iam.googleapis.com/" + options.google_identity},
      {"subject_token_type", "urn:ietf:params:aws:token-type:aws4_request"},
      {"token_url", "https://sts.googleapis.com/v1/token"},
      {"credential_source",
       {{"environment_id", "aws1"},
        {"region_url", metadata + "meta-data/placement/availability-zone"},
        {"url", metadata + "meta-data/iam/security-credentials"},
        {"regional_cred_verification_url",
         "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"},
        {"imdsv2_session_token_url", metadata + "api/token"}}}};
  if (!options.google_account.empty()) {
    out["service_account_impersonation_url"] =
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/" +
        options.google_account + ":generateAccessToken";
  }
  return json::Dump(out);
}

// What is Amazon's or Google's in what fetches the binary.
struct Fetch {
  std::string region;  // of what is signed
  std::string base;
  std::string run;
  std::string python;
};

Result<Fetch> FetchOf(const LaunchRequest& request, const Options& options) {
  if (StartsWith(request.store_url, "gs://") && !options.google_identity.empty()) {
    STOKER_ASSIGN(const cloud::Bucket bucket, cloud::BucketOf(request.store_url, "gs://", ""));
    return Fetch{request.ask.place.region, cloud::GoogleBlobBase(bucket, ""), kRunGoogleScript,
                 kFetchGoogleScript};
  }
  STOKER_ASSIGN(const cloud::Bucket bucket,
                cloud::BucketOf(request.store_url, "s3://", "machines of EC2"));
  return Fetch{options.store_region, BlobBase(bucket, options), kRunScript, kFetchScript};
}

std::string Env(const LaunchRequest& request, const Options& options, const Fetch& fetch) {
  using cloud::SetVariable;
  return SetVariable("LIMIT", std::to_string(std::max<int64_t>(request.limit.ms / 1000, 60))) +
         SetVariable("DIGEST", request.binary_digest) +
         SetVariable("PERIOD", std::to_string(options.blob_period)) +
         SetVariable("REGION", fetch.region) + SetVariable("BASE", fetch.base) +
         SetVariable("S3_ENDPOINT", options.s3_endpoint) +
         SetVariable("EC2_ENDPOINT", options.ec2_endpoint) +
         SetVariable("SSM_ENDPOINT", options.ssm_endpoint) +
         SetVariable("SECRETS_ENDPOINT", options.secrets_endpoint) +
         SetVariable("LOGS_ENDPOINT", options.logs_endpoint) +
         SetVariable("ECR_ENDPOINT", options.ecr_endpoint) +
         "IMDS=${IMDS:-http://169.254.169.254}\nexport REGION IMDS\n";
}

}  // namespace

Result<std::string> UserData(const LaunchRequest& request, const Options& options) {
  STOKER_ASSIGN(const Fetch fetch, FetchOf(request, options));
  STOKER_TRY(cloud::CheckLines(
      {request.store_url, options.s3_endpoint, options.ec2_endpoint, options.ssm_endpoint,
       options.secrets_endpoint, options.logs_endpoint, options.ecr_endpoint, fetch.region,
       request.binary_digest, options.google_identity, options.google_account}));
  cloud::BootParts parts{Env(request, options, fetch),
                         fetch.run + kPrepareScript,
                         cloud::EncodeLaunch(request),
                         kLaunchFile,
                         {{"/opt/stoker/fetch.py", kSignScript + fetch.python}}};
  if (!options.google_identity.empty()) {
    parts.more.emplace_back("/opt/stoker/google.json", GoogleFile(options));
  }
  const std::string script = cloud::BootScript(parts);
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
