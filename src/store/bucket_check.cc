// SPDX-License-Identifier: Apache-2.0
#include "store/bucket_check.h"

#include <fmt/format.h>

#include <pugixml.hpp>

#include "base/json.h"
#include "base/json_depth.h"
#include "base/text.h"
#include "google/credential_source.h"
#include "store/bucket/retrying_carrier.h"
#include "store/bucket_url.h"
#include "store/gcs/gcs_client.h"
#include "store/lifecycle.h"
#include "store/open_gcs.h"
#include "store/open_s3.h"
#include "store/s3/s3_client.h"

namespace stoker {
namespace {

using Level = BucketFinding::Level;

// Standard storage in us-east-1 and in us-central1, as listed in November 2026.
constexpr double kS3GbMonth = 0.023;
constexpr double kGcsGbMonth = 0.020;
constexpr double kSecondsADay = 86'400;
constexpr int kDeepestAnswer = 32;  // what is read of it has five levels; some of it is copied

void Add(BucketCheck* out, Level level, const std::string& what, const std::string& text) {
  out->facts.push_back({level, what, text});
}

// The middle of what names a key is nobody's business either.
std::string Short(const std::string& id) {
  return id.size() <= 8 ? id : id.substr(0, 4) + "…" + id.substr(id.size() - 4);
}

std::string Until(const std::optional<WallTime>& expires) {
  return expires ? "until " + FormatRfc3339(*expires) + ", then renewed" : "without an end";
}

void S3Credentials(const S3StoreOptions& options, BucketCheck* out) {
  const auto found = options.client.credentials();
  if (!found.ok()) return Add(out, Level::kBad, "credentials", found.status().ToString());
  std::string text =
      found->source + ", key " + Short(found->access_key) + ", " + Until(found->expires);
  const auto caller = FindS3Caller(*found);
  text +=
      caller.ok() ? ", for " + *caller : "; for whom is not known: " + caller.status().message();
  Add(out, Level::kOk, "credentials", text);
}

// The body of what the bucket answers to `query`.
Result<std::string> Ask(bucket::Carrier& carrier, const bucket::Request& request) {
  auto answer = carrier.Call(request);
  if (!answer.ok()) return answer.status();
  return std::move(answer->body);
}

BucketCheck S3Facts(const std::string& url) {
  BucketCheck out;
  out.dollars_per_gb_month = kS3GbMonth;
  auto options = FindS3Options(url);
  if (!options.ok()) {
    Add(&out, Level::kBad, "credentials", options.status().ToString());
    return out;
  }
  S3Credentials(*options, &out);
  auto client = s3::Client::Make(options->client);
  if (!client.ok()) {
    Add(&out, Level::kBad, "bucket", client.status().ToString());
    return out;
  }
  const std::string& endpoint = options->client.endpoint;
  const std::string& region = options->client.region;
  Add(&out, Level::kOk, "endpoint",
      (endpoint.empty() ? "Amazon's" : endpoint) + ", region " +
          (region.empty() ? "not set: the bucket's own is found out" : region));
  ReadVersioning(Ask(**client, {.method = "GET", .query = "versioning="}), &out);
  ReadLifecycle(Ask(**client, {.method = "GET", .query = "lifecycle="}), options->prefix, &out);
  return out;
}

BucketCheck GcsFacts(const std::string& url) {
  BucketCheck out;
  out.dollars_per_gb_month = kGcsGbMonth;
  const auto token = FindGcsCredentials();
  Add(&out, token.ok() ? Level::kOk : Level::kBad, "credentials",
      token.ok() ? Describe(*token) : token.status().ToString());
  auto options = FindGcsOptions(url);
  if (!token.ok() || !options.ok()) return out;
  auto client = gcs::Client::Make(options->client);
  if (!client.ok()) {
    Add(&out, Level::kBad, "bucket", client.status().ToString());
    return out;
  }
  bucket::Request request{.method = "GET"};
  request.target = "/storage/v1/b/" + options->client.bucket +
                   "?fields=softDeletePolicy,versioning,lifecycle,location,storageClass";
  ReadGcsBucket(Ask(**client, request), options->prefix, &out);
  return out;
}

void KeptFor(BucketCheck* out, double days) {
  const bool longer = days < 0 || (out->keeps_deleted_days >= 0 && days > out->keeps_deleted_days);
  if (longer) out->keeps_deleted_days = days;
}

// Rules that take away what stoker still needs.
void Deletions(const Lifecycle& rules, BucketCheck* out) {
  for (const std::string& what : rules.deletes) {
    Add(out, Level::kNote, "lifecycle",
        "a rule deletes " + what +
            ": records, logs and checkpoints must not be among it, so give the rule another "
            "prefix, or the store a bucket without one");
  }
}

// What soft delete keeps, it keeps once a version is cleared away.
void GcsVersioning(bool on, const Lifecycle& rules, BucketCheck* out) {
  if (!on) return Add(out, Level::kOk, "versioning", "off");
  const std::string stays = "on: what stoker overwrites or deletes stays, and is paid for, ";
  if (!rules.clears_versions) {
    KeptFor(out, -1);
    return Add(out, Level::kNote, "versioning",
               stays + "until a lifecycle rule with daysSinceNoncurrentTime clears it away");
  }
  out->keeps_deleted_days += *rules.clears_versions;
  Add(out, Level::kNote, "versioning",
      stays + fmt::format("until a rule clears it away after {:g} days", *rules.clears_versions));
}

}  // namespace

Result<std::string> ReadBucketPolicy(const std::string& url) {
  STOKER_ASSIGN(auto options, FindS3Options(url));
  STOKER_ASSIGN(const auto client, s3::Client::Make(options.client));
  return Ask(*client, {.method = "GET", .query = "policy="});
}

void ReadVersioning(const Result<std::string>& xml, BucketCheck* out) {
  pugi::xml_document document;
  if (!xml.ok()) {
    return Add(out, Level::kNote, "versioning",
               "could not be read (s3:GetBucketVersioning): " + xml.status().message());
  }
  if (!document.load_buffer(xml->data(), xml->size())) {
    return Add(out, Level::kNote, "versioning", "the service's answer is no XML");
  }
  const std::string status = document.child("VersioningConfiguration").child_value("Status");
  if (status == "Suspended") {
    return Add(out, Level::kNote, "versioning",
               "suspended: what stoker overwrites or deletes now is gone, but versions from before "
               "are still there, and paid for, until a lifecycle rule with "
               "NoncurrentVersionExpiration clears them away");
  }
  if (status != "Enabled") {
    return Add(out, Level::kOk, "versioning", "off: what is deleted is gone, and not paid for");
  }
  KeptFor(out, -1);
  Add(out, Level::kNote, "versioning",
      "on: what stoker overwrites or deletes stays as old versions, and is paid for, until a "
      "lifecycle rule with NoncurrentVersionExpiration clears it away");
}

void ReadLifecycle(const Result<std::string>& xml, const std::string& prefix, BucketCheck* out) {
  const std::string swept =
      "unfinished uploads are swept by 'stoker gc' alone; a rule with "
      "AbortIncompleteMultipartUpload of 7 days would do it without";
  if (xml.status().Is(Code::kNotFound)) {
    return Add(out, Level::kNote, "lifecycle", "no rules: " + swept);
  }
  pugi::xml_document document;
  if (!xml.ok() || !document.load_buffer(xml->data(), xml->size())) {
    return Add(out, Level::kNote, "lifecycle",
               "could not be read (s3:GetLifecycleConfiguration)" +
                   (xml.ok() ? std::string() : ": " + xml.status().message()));
  }
  const Lifecycle rules = ReadS3Lifecycle(document.child("LifecycleConfiguration"), prefix);
  Deletions(rules, out);
  if (rules.clears_versions && out->keeps_deleted_days < 0) {
    out->keeps_deleted_days = *rules.clears_versions;
    Add(out, Level::kOk, "lifecycle",
        fmt::format("old versions go by a rule after {:g} days", *rules.clears_versions));
  }
  Add(out, rules.aborts ? Level::kOk : Level::kNote, "lifecycle",
      rules.aborts ? "unfinished uploads go by a rule" : swept);
}

void ReadGcsBucket(const Result<std::string>& json, const std::string& prefix, BucketCheck* out) {
  if (!json.ok()) {
    return Add(out, Level::kNote, "bucket",
               "its settings could not be read (storage.buckets.get): " + json.status().message());
  }
  nlohmann::json bucket;
  if (!NestedDeeper(*json, kDeepestAnswer)) bucket = nlohmann::json::parse(*json, nullptr, false);
  if (!bucket.is_object()) {
    return Add(out, Level::kNote, "bucket", "the service's answer is no JSON object");
  }
  const auto text = [&](const char* at) {
    const auto value = bucket.value(nlohmann::json::json_pointer(at), nlohmann::json());
    return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
  };
  Add(out, Level::kOk, "bucket",
      Printable(text("/location") + ", " + text("/storageClass") + " storage"));
  const std::string digits = text("/softDeletePolicy/retentionDurationSeconds");
  const int64_t seconds = WholeNumber(digits, 0, INT64_MAX).value_or(0);
  if (seconds > 0) {
    const double days = static_cast<double>(seconds) / kSecondsADay;
    KeptFor(out, days);
    Add(out, Level::kNote, "soft delete",
        fmt::format("on: what stoker overwrites or deletes is paid for {:g} days longer; "
                    "'gcloud storage buckets update gs://BUCKET --clear-soft-delete' turns it off",
                    days));
  } else {
    Add(out, Level::kOk, "soft delete", "off: what is deleted is gone, and not paid for");
  }
  const Lifecycle rules = ReadGcsLifecycle(bucket.value("lifecycle", nlohmann::json()), prefix);
  GcsVersioning(text("/versioning/enabled") == "true", rules, out);
  Deletions(rules, out);
}

BucketCheck CheckBucket(const std::string& url) {
  if (StartsWith(url, "s3://")) return S3Facts(url);
  if (StartsWith(url, "gs://")) return GcsFacts(url);
  return {};
}

}  // namespace stoker
