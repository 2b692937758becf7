// SPDX-License-Identifier: Apache-2.0
#include "cli/ec2_offers.h"

#include "aws/account/account.h"
#include "aws/config.h"
#include "base/text.h"
#include "ledger/blobs.h"
#include "ledger/places.h"
#include "net/http_message.h"
#include "provider/ec2/ec2_resolve.h"
#include "spec/text/infra.h"
#include "store/open_s3.h"

namespace stoker::cli {
namespace {

Status CheckReach(const JobSpec& spec, const std::string& store_url) {
  if (!StartsWith(store_url, "s3://")) {
    return Status(Code::kInvalid, "machines of EC2 cannot reach the store " + Printable(store_url),
                  "Give them a bucket: stoker config set store s3://bucket/prefix");
  }
  for (const InputSpec& input : spec.inputs) {
    if (StartsWith(input.source, "s3://")) continue;
    return Status(
        Code::kInvalid,
        "machines of EC2 cannot reach the input '" + input.name + "': " + Printable(input.source),
        "Copy it first: stoker sync " + ShellQuote(Printable(input.source)) + " s3://bucket/" +
            input.name);
  }
  if (!spec.secrets.empty()) {
    return Status(Code::kInvalid,
                  "secrets are not taken along to machines of EC2: " + Join(spec.secrets, ", "),
                  "Leave them out of the job, and let the program read each by the role of its "
                  "machines: aws secretsmanager get-secret-value --secret-id NAME (the role needs "
                  "secretsmanager:GetSecretValue on it)");
  }
  return Status::Ok();
}

// A service that stands in for Amazon's must be reached from machines, too.
Status CheckEndpoint(const std::string& what, const std::string& endpoint) {
  if (endpoint.empty()) return Status::Ok();
  STOKER_ASSIGN(const HttpUrl url, ParseHttpUrl(endpoint));
  const bool here = url.host == "localhost" || url.host == "::1" || StartsWith(url.host, "127.");
  if (!here) return Status::Ok();
  return Status(Code::kInvalid,
                what + " is set to " + endpoint + ", which other machines cannot reach",
                "Unset AWS_ENDPOINT_URL, or give it an address that they reach");
}

}  // namespace

bool IsInCloud(const JobSpec& spec) {
  return ParseInfra(spec.resources.infra).provider == kEc2Provider;
}

Result<std::vector<Offer>> ResolveEc2Offers(Context& context, const JobSpec& spec) {
  if (!IsInCloud(spec)) return std::vector<Offer>();
  const Infra infra = ParseInfra(spec.resources.infra);
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  const std::string store_url = ledger->store().url();
  STOKER_TRY(CheckReach(spec, store_url));
  STOKER_ASSIGN(const Settings* settings, context.settings());
  STOKER_ASSIGN(const AwsAccount account, FindAwsAccount());
  STOKER_ASSIGN(const S3Place bucket, FindS3Place(store_url));
  STOKER_TRY(CheckEndpoint("the endpoint of S3", bucket.endpoint));
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
  wish.profile = settings->aws_instance_profile;
  wish.store_region = bucket.region;
  wish.s3_endpoint = bucket.endpoint;
  STOKER_ASSIGN(wish.ec2_endpoint, AwsEndpointUrl(account.outside, account.config, "ec2"));
  STOKER_TRY(CheckEndpoint("the endpoint of EC2", wish.ec2_endpoint));
  STOKER_ASSIGN(const auto api, context.aws());
  return ResolveEc2(*api, wish);
}

Status CompleteOffers(Context& context, const std::string& binary_digest,
                      std::vector<Offer>* offers) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const BlobCopy binary, FindBlob(*ledger, binary_digest));
  STOKER_ASSIGN(const auto api, context.aws());
  // Whoever clears up looks where anything was made.
  const std::string& region = offers->front().ask.place.region;  // of all of them
  STOKER_TRY(NotePlace(ledger->store(), kEc2Provider, region));
  return CompleteEc2Offers(*api, ledger->id(), binary.period, offers);
}

}  // namespace stoker::cli
