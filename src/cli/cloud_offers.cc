// SPDX-License-Identifier: Apache-2.0
#include "cli/cloud_offers.h"

#include <algorithm>

#include "base/text.h"
#include "cli/ec2_offers.h"
#include "cli/gce_offers.h"
#include "ledger/blobs.h"
#include "net/http_message.h"
#include "spec/text/infra.h"

namespace stoker::cli {

bool IsInCloud(const JobSpec& spec) {
  const std::string provider = ParseInfra(spec.resources.infra).provider;
  return provider == kEc2Provider || provider == kGceProvider;
}

Status CheckReach(const JobSpec& spec, const std::string& store_url,
                  const std::vector<std::string>& schemes, const std::string& machines,
                  const std::string& secrets_next) {
  const std::string& scheme = schemes.front();
  const auto reached = [&](const std::string& url) {
    return std::any_of(schemes.begin(), schemes.end(),
                       [&](const std::string& each) { return StartsWith(url, each); });
  };
  if (!reached(store_url)) {
    return Status(Code::kInvalid, machines + " cannot reach the store " + Printable(store_url),
                  "Give them a bucket: stoker config set store " + scheme + "bucket/prefix");
  }
  for (const InputSpec& input : spec.inputs) {
    if (reached(input.source)) continue;
    return Status(
        Code::kInvalid,
        machines + " cannot reach the input '" + input.name + "': " + Printable(input.source),
        "Copy it first: stoker sync " + ShellQuote(Printable(input.source)) + " " + scheme +
            "bucket/" + input.name);
  }
  if (spec.secrets.empty()) return Status::Ok();
  return Status(Code::kInvalid,
                "secrets are not taken along to " + machines + ": " + Join(spec.secrets, ", "),
                secrets_next);
}

Status CheckEndpoint(const std::string& what, const std::string& endpoint,
                     const std::string& variable) {
  if (endpoint.empty()) return Status::Ok();
  STOKER_ASSIGN(const HttpUrl url, ParseHttpUrl(endpoint));
  const bool here = url.host == "localhost" || url.host == "::1" || StartsWith(url.host, "127.");
  if (!here) return Status::Ok();
  return Status(Code::kInvalid,
                what + " is set to " + endpoint + ", which other machines cannot reach",
                "Unset " + variable + ", or give it an address that they reach");
}

Status CompleteOffers(Context& context, const std::string& binary_digest,
                      std::vector<Offer>* offers) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const BlobCopy binary, FindBlob(*ledger, binary_digest));
  if (offers->front().ask.place.provider == kGceProvider) {
    return CompleteGce(context, binary.period, offers);
  }
  return CompleteEc2(context, binary.period, offers);
}

}  // namespace stoker::cli
