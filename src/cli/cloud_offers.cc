// SPDX-License-Identifier: Apache-2.0
#include "cli/cloud_offers.h"

#include <algorithm>

#include "base/text.h"
#include "cli/ec2_offers.h"
#include "cli/gce_offers.h"
#include "ledger/blobs.h"
#include "net/http_message.h"
#include "spec/choices.h"

namespace stoker::cli {

bool IsInCloud(const JobSpec& spec) {
  return AnyChoiceIs(spec, kEc2Provider) || AnyChoiceIs(spec, kGceProvider);
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
  // Those of one account and region are completed together.
  const auto together = [](const Offer& a, const Offer& b) {
    return a.ask.place.provider == b.ask.place.provider &&
           a.ask.place.account == b.ask.place.account && a.ask.place.region == b.ask.place.region;
  };
  std::vector<Offer> out;
  for (size_t at = 0; at < offers->size();) {
    std::vector<Offer> group;
    do {
      group.push_back((*offers)[at++]);
    } while (at < offers->size() && together(group.front(), (*offers)[at]));
    const std::string& provider = group.front().ask.place.provider;
    if (provider == kGceProvider) STOKER_TRY(CompleteGce(context, binary.period, &group));
    if (provider == kEc2Provider) STOKER_TRY(CompleteEc2(context, binary.period, &group));
    out.insert(out.end(), group.begin(), group.end());
  }
  *offers = std::move(out);
  return Status::Ok();
}

}  // namespace stoker::cli
