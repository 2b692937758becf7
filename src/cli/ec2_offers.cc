// SPDX-License-Identifier: Apache-2.0
#include "cli/ec2_offers.h"

#include "aws/account/account.h"
#include "aws/config.h"
#include "base/text.h"
#include "cli/cloud_offers.h"
#include "ledger/places.h"
#include "provider/ec2/ec2_resolve.h"
#include "spec/text/infra.h"
#include "store/open_gcs.h"
#include "store/open_s3.h"

namespace stoker::cli {
namespace {

constexpr char kSecretsNext[] =
    "Leave them out of the job, and let the program read each by the role of its machines: aws "
    "secretsmanager get-secret-value --secret-id NAME (the role needs "
    "secretsmanager:GetSecretValue on it)";

constexpr char kS3[] = "s3://";
constexpr char kGoogle[] = "gs://";

// Something in a bucket of Google's that the machines must reach; "" = nothing.
std::string InGoogle(const JobSpec& spec, const std::string& store_url) {
  if (StartsWith(store_url, kGoogle)) return "the store " + Printable(store_url);
  for (const InputSpec& input : spec.inputs) {
    if (StartsWith(input.source, kGoogle)) {
      return "the input '" + input.name + "': " + Printable(input.source);
    }
  }
  return "";
}

// Google lets in whom it knows: machines of EC2 have no identity there by themselves.
Status CheckKnownToGoogle(const std::string& what, const Settings& settings) {
  if (settings.aws_google_identity.empty()) {
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

// Of a store elsewhere, where S3 is for inputs.
Result<S3Place> StoreInS3(const std::string& store_url, const AwsAccount& account) {
  if (StartsWith(store_url, kS3)) return FindS3Place(store_url);
  S3Place place;
  STOKER_ASSIGN(place.endpoint, AwsEndpointUrl(account.outside, account.config, "s3"));
  return place;
}

}  // namespace

Result<std::vector<Offer>> ResolveEc2Offers(Context& context, const JobSpec& spec) {
  const Infra infra = ParseInfra(spec.resources.infra);
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  const std::string store_url = ledger->store().url();
  STOKER_ASSIGN(const Settings* settings, context.settings());
  const std::string in_google = InGoogle(spec, store_url);
  if (!in_google.empty()) STOKER_TRY(CheckKnownToGoogle(in_google, *settings));
  STOKER_TRY(CheckReach(spec, store_url, {kS3, kGoogle}, "machines of EC2", kSecretsNext));
  STOKER_ASSIGN(const AwsAccount account, FindAwsAccount());
  STOKER_ASSIGN(const S3Place bucket, StoreInS3(store_url, account));
  STOKER_TRY(CheckEndpoint("the endpoint of S3", bucket.endpoint, "AWS_ENDPOINT_URL"));
  const ResourcesSpec& asked = spec.resources;
  Ec2Wish wish;
  wish.region = infra.where.empty() ? AwsRegion(account.outside, account.config) : infra.where;
  wish.zone = infra.within;
  wish.type = asked.instance_type;
  wish.image = asked.image_id;
  wish.spot = asked.use_spot;
  wish.cpus = asked.cpus;
  wish.memory = asked.memory;
  wish.gpus = asked.gpus;
  wish.gpu_name = asked.gpu_name;
  wish.disk_gib = asked.disk_gib;
  wish.labels = asked.labels;
  wish.nodes = spec.num_nodes;
  wish.cluster = !spec.aws.placement.empty();
  wish.efa = spec.aws.efa;
  wish.reservation = spec.aws.capacity_reservation;
  wish.subnets = spec.aws.subnets;
  wish.groups = spec.aws.security_groups;
  wish.profile = settings->aws_instance_profile;
  wish.store_region = bucket.region;
  wish.s3_endpoint = bucket.endpoint;
  if (!in_google.empty()) {
    wish.google_identity = settings->aws_google_identity;
    wish.google_account = settings->aws_google_account;
  }
  STOKER_ASSIGN(wish.ec2_endpoint, AwsEndpointUrl(account.outside, account.config, "ec2"));
  STOKER_TRY(CheckEndpoint("the endpoint of EC2", wish.ec2_endpoint, "AWS_ENDPOINT_URL"));
  STOKER_ASSIGN(const auto api, context.aws());
  return ResolveEc2(*api, wish);
}

Status CompleteEc2(Context& context, int64_t blob_period, std::vector<Offer>* offers) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const auto api, context.aws());
  // Whoever clears up looks where anything was made.
  const std::string& region = offers->front().ask.place.region;  // of all of them
  STOKER_TRY(NotePlace(ledger->store(), kEc2Provider, region));
  return CompleteEc2Offers(*api, ledger->id(), blob_period, offers);
}

}  // namespace stoker::cli
