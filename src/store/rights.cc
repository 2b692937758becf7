// SPDX-License-Identifier: Apache-2.0
#include "store/rights.h"

#include <vector>

#include "aws/config.h"
#include "base/json.h"
#include "base/text.h"
#include "store/bucket_url.h"
#include "store/open_s3.h"

namespace stoker {
namespace {

using nlohmann::ordered_json;

// Source: "Actions, resources, and condition keys for Amazon S3". Overwriting and deleting are of
// the work: records and reports are written again, old checkpoints go.
ordered_json S3Policy(const BucketUrl& place, const std::string& region, bool submitter) {
  const std::string bucket = "arn:" + AwsPartition(region) + ":s3:::" + place.bucket;
  const std::string below = place.prefix.empty() ? "" : place.prefix + "/";
  ordered_json objects = {{"Sid", "Objects"},
                          {"Effect", "Allow"},
                          {"Action",
                           {"s3:GetObject", "s3:PutObject", "s3:DeleteObject",
                            "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"}},
                          {"Resource", bucket + "/" + below + "*"}};
  ordered_json list = {
      {"Sid", "List"}, {"Effect", "Allow"}, {"Action", "s3:ListBucket"}, {"Resource", bucket}};
  if (!below.empty()) list["Condition"] = {{"StringLike", {{"s3:prefix", below + "*"}}}};
  ordered_json statements = ordered_json::array({objects, list});
  if (submitter) {
    // 'stoker gc' sweeps uploads whose writers died; 'stoker doctor' reads the settings; whether
    // the bucket's own policy lets machines in is asked where their role's does not.
    statements.push_back({{"Sid", "Upkeep"},
                          {"Effect", "Allow"},
                          {"Action",
                           {"s3:ListBucketMultipartUploads", "s3:GetBucketVersioning",
                            "s3:GetLifecycleConfiguration", "s3:GetBucketPolicy"}},
                          {"Resource", bucket}});
  }
  return {{"Version", "2012-10-17"}, {"Statement", statements}};
}

// A policy of a user's own may have 2,048 characters, which is less than this with EC2's: it is one
// that is attached ("IAM and AWS STS quotas").
Rights S3Rights(const BucketUrl& place, const std::string& region) {
  const std::string file = std::string("file://") + kRightsFolder + "/" + kSubmitterFile;
  return {
      {{kSubmitterFile, "whoever submits and looks", S3Policy(place, region, true).dump(2)},
       {kNodeFile, "machines that run jobs", S3Policy(place, region, false).dump(2)}},
      {"aws iam create-policy --policy-name stoker-submitter --policy-document " + file,
       "aws iam attach-user-policy --user-name NAME --policy-arn arn:" + AwsPartition(region) +
           ":iam::ACCOUNT:policy/stoker-submitter"},
      "Where the bucket encrypts with a key of KMS (SSE-KMS), both need kms:GenerateDataKey and "
      "kms:Decrypt on that key too.\n"};
}

std::string Role(const char* title, const std::vector<std::string>& permissions) {
  return ordered_json({{"title", title}, {"stage", "GA"}, {"includedPermissions", permissions}})
      .dump(2);
}

// Source: "IAM permissions for JSON methods" (Cloud Storage). Overwriting needs delete.
Rights GcsRights(const BucketUrl& place) {
  const std::vector<std::string> node = {"storage.objects.create", "storage.objects.delete",
                                         "storage.objects.get", "storage.objects.list"};
  std::vector<std::string> submitter = node;
  submitter.emplace_back("storage.buckets.get");  // 'stoker doctor' reads the settings
  Rights rights;
  rights.files = {
      {kBucketSubmitterFile, "whoever submits and looks, on the bucket",
       Role("stoker bucket submitter", submitter)},
      {kBucketNodeFile, "machines that run jobs, on the bucket", Role("stoker bucket node", node)}};
  const std::string make = "gcloud iam roles create ";
  const std::string from = std::string(" --project=PROJECT --file=") + kRightsFolder + "/";
  rights.commands = {make + "stokerBucketSubmitter" + from + kBucketSubmitterFile,
                     make + "stokerBucketNode" + from + kBucketNodeFile,
                     "gcloud storage buckets add-iam-policy-binding gs://" + place.bucket +
                         " --member=user:NAME --role=projects/PROJECT/roles/stokerBucketSubmitter"};
  rights.how =
      "Google cannot limit a list to a prefix: give each ledger a bucket of its own where others "
      "must not look in.\n";
  return rights;
}

}  // namespace

Result<Rights> RightsFor(const std::string& url, const std::string& region) {
  if (StartsWith(url, "s3://")) return S3Rights(ParseBucketUrl(url), region);
  if (StartsWith(url, "gs://")) return GcsRights(ParseBucketUrl(url));
  return Status(Code::kInvalid, "'" + Printable(url) + "' is a folder: it needs no policy",
                "Set the store first: stoker config set store s3://bucket/prefix");
}

std::string RegionOfRights(const std::string& url) {
  if (!StartsWith(url, "s3://")) return "";
  const auto options = FindS3Options(url);
  return options.ok() ? options->client.region : "";
}

}  // namespace stoker
