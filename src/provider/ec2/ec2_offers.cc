// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_offers.h"

#include <algorithm>
#include <iterator>

#include "aws/account/account.h"
#include "aws/config.h"
#include "base/text.h"
#include "spec/places/ec2/section.h"
#include "store/open_gcs.h"
#include "store/open_s3.h"

namespace stoker {
namespace {

constexpr char kS3[] = "s3://";
constexpr char kGoogle[] = "gs://";

// Something in a bucket of Google's that the machines must reach; "" = nothing.
std::string InGoogle(const OfferAsk& ask) {
  const std::string store_url = ask.ledger.store->url();
  if (StartsWith(store_url, kGoogle)) return "the store " + Printable(store_url);
  for (const InputSpec& input : ask.spec.inputs) {
    if (StartsWith(input.source, kGoogle)) {
      return "the input '" + input.name + "': " + Printable(input.source);
    }
  }
  return "";
}

// Google lets in whom it knows: machines of EC2 have no identity there by themselves.
Status CheckKnownToGoogle(const std::string& what, const Settings& settings) {
  if (settings.Of(kAwsGoogleIdentity).empty()) {
    return Status(Code::kInvalid,
                  "machines of EC2 cannot reach " + what + ", since Google does not know them",
                  "Let it know them by workload identity federation (docs/aws.md), and name the "
                  "provider: stoker config set aws.google_identity projects/NUMBER/locations/"
                  "global/workloadIdentityPools/POOL/providers/PROVIDER; or give them a bucket of "
                  "S3: stoker config set store s3://bucket/prefix");
  }
  if (GcsEmulator().empty()) return Status::Ok();
  return Status(Code::kInvalid,
                "machines of EC2 cannot reach " + what +
                    ": they ask Google itself, and STORAGE_EMULATOR_HOST is set",
                "Unset STORAGE_EMULATOR_HOST");
}

// As many days as CloudWatch Logs can keep lines. Source: PutRetentionPolicy (its API reference).
constexpr int kDays[] = {1,   3,   5,   7,   14,   30,   60,   90,   120,  150,  180,
                         365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653};

Status CheckDays(const LogsSpec& logs) {
  const auto* at = std::lower_bound(std::begin(kDays), std::end(kDays), logs.days.value_or(1));
  if (!logs.days || (at != std::end(kDays) && *at == *logs.days)) return Status::Ok();
  return Status(Code::kInvalid,
                "logs.retention: CloudWatch Logs cannot keep lines for " +
                    std::to_string(*logs.days) + " days",
                "The next longer that it can is " + std::to_string(*at) + "d");
}

// Of a store elsewhere, where S3 is for inputs.
Result<S3Place> StoreInS3(const std::string& store_url, const AwsAccount& account) {
  if (StartsWith(store_url, kS3)) return FindS3Place(store_url);
  S3Place place;
  STOKER_ASSIGN(place.endpoint, AwsEndpointUrl(account.outside, account.config, "s3"));
  return place;
}

}  // namespace

Status CheckEc2Reach(const OfferAsk& ask, const Settings& settings) {
  if (ask.spec.on_stop == OnStop::kRestart && ask.spec.resources.use_spot) {
    return Status(Code::kInvalid,
                  "on_stop: restart: EC2 ends the spot instances that stoker asks for when it "
                  "takes them",
                  "Leave on_stop out: what is taken is replaced");
  }
  STOKER_TRY(CheckDays(ask.spec.logs));
  const std::string in_google = InGoogle(ask);
  if (!in_google.empty()) STOKER_TRY(CheckKnownToGoogle(in_google, settings));
  return cloud::CheckReach(ask, {kS3, kGoogle}, "machines of EC2");
}

Result<Ec2Wish> Ec2WishOf(const OfferAsk& ask, const Settings& settings,
                          const std::function<void(const std::string&)>& say) {
  STOKER_ASSIGN(const AwsAccount account, FindAwsAccount());
  STOKER_ASSIGN(const S3Place bucket, StoreInS3(ask.ledger.store->url(), account));
  STOKER_TRY(cloud::CheckEndpoint("the endpoint of S3", bucket.endpoint, "AWS_ENDPOINT_URL"));
  const AwsSpec& aws = ask.spec.sections.aws;
  Ec2Wish wish{cloud::WishOf(ask)};
  wish.say = say;
  if (wish.region.empty()) wish.region = AwsRegion(account.outside, account.config);
  wish.cluster = !aws.placement.empty();
  wish.efa = aws.efa;
  wish.metadata_tags = aws.metadata_tags;
  wish.reservation = aws.capacity_reservation;
  wish.subnets = aws.subnets;
  wish.groups = aws.security_groups;
  wish.profile = settings.Of(kAwsProfile);
  if (StartsWith(ask.ledger.store->url(), kS3)) wish.store = ask.ledger.store->url();
  wish.store_region = bucket.region;
  wish.s3_endpoint = bucket.endpoint;
  if (!InGoogle(ask).empty()) {
    wish.google_identity = settings.Of(kAwsGoogleIdentity);
    wish.google_account = settings.Of(kAwsGoogleAccount);
  }
  const auto endpoint = [&](const std::string& service, const char* title, std::string* out) {
    auto url = AwsEndpointUrl(account.outside, account.config, service);
    if (!url.ok()) return url.status();
    *out = *url;
    return cloud::CheckEndpoint(std::string("the endpoint of ") + title, *out, "AWS_ENDPOINT_URL");
  };
  STOKER_TRY(endpoint("ec2", "EC2", &wish.ec2_endpoint));
  if (ask.spec.logs.cloud)
    STOKER_TRY(endpoint("cloudwatch_logs", "CloudWatch Logs", &wish.logs_endpoint));
  if (!ask.spec.container.image.empty()) STOKER_TRY(endpoint("ecr", "ECR", &wish.ecr_endpoint));
  if (ask.spec.secrets.empty()) return wish;
  STOKER_TRY(endpoint("ssm", "SSM", &wish.ssm_endpoint));
  STOKER_TRY(endpoint("secrets_manager", "Secrets Manager", &wish.secrets_endpoint));
  return wish;
}

}  // namespace stoker
