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
    // 'stoker gc' sweeps uploads whose writers died; 'stoker doctor' reads the settings.
    statements.push_back({{"Sid", "Upkeep"},
                          {"Effect", "Allow"},
                          {"Action",
                           {"s3:ListBucketMultipartUploads", "s3:GetBucketVersioning",
                            "s3:GetLifecycleConfiguration"}},
                          {"Resource", bucket}});
  }
  return {{"Version", "2012-10-17"}, {"Statement", statements}};
}

Rights S3Rights(const BucketUrl& place, const std::string& region) {
  Rights rights;
  rights.submitter = S3Policy(place, region, true).dump(2);
  rights.node = S3Policy(place, region, false).dump(2);
  rights.how =
      "Attach the first to the users or roles that submit, and the second to the role of the "
      "machines:\n  aws iam put-user-policy --user-name NAME --policy-name stoker "
      "--policy-document file://submitter.json\n"
      "Where the bucket encrypts with a key of KMS (SSE-KMS), both need kms:GenerateDataKey and "
      "kms:Decrypt on that key too.\n";
  return rights;
}

// Source: "IAM permissions for JSON methods" (Cloud Storage). Overwriting needs delete.
Rights GcsRights(const BucketUrl& place) {
  const std::vector<std::string> node = {"storage.objects.create", "storage.objects.delete",
                                         "storage.objects.get", "storage.objects.list"};
  std::vector<std::string> submitter = node;
  submitter.emplace_back("storage.buckets.get");  // 'stoker doctor' reads the settings
  Rights rights;
  rights.submitter =
      ordered_json(
          {{"title", "stoker submitter"}, {"stage", "GA"}, {"includedPermissions", submitter}})
          .dump(2);
  rights.node =
      ordered_json({{"title", "stoker node"}, {"stage", "GA"}, {"includedPermissions", node}})
          .dump(2);
  rights.how =
      "Make roles of them and bind them on the bucket; Google cannot limit a list to a prefix, so "
      "give each ledger a bucket of its own where others must not look in:\n"
      "  gcloud iam roles create stokerSubmitter --project=PROJECT --file=submitter.json\n"
      "  gcloud storage buckets add-iam-policy-binding gs://" +
      place.bucket + " --member=user:NAME --role=projects/PROJECT/roles/stokerSubmitter\n";
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
