// SPDX-License-Identifier: Apache-2.0
#include "aws/sts.h"

#include <pugixml.hpp>

#include "aws/caller.h"
#include "aws/sigv4.h"
#include "aws/url.h"
#include "base/text.h"
#include "net/percent.h"

namespace stoker {
namespace {

struct Call {
  AwsUrl url;
  std::string region;
  HttpRequest request;
};

// In the user's region; without one, at the first region, which serves all.
Result<Call> Prepare(const AwsLookup& lookup, const std::string& action) {
  Call call;
  call.region = AwsRegion(lookup.environment, lookup.config);
  if (call.region.empty()) call.region = "us-east-1";
  if (!IsSafeName(call.region)) {
    return Status(Code::kInvalid, "not an AWS region: '" + Printable(call.region) + "'",
                  "Correct AWS_REGION, or the profile's region");
  }
  STOKER_ASSIGN(std::string endpoint, AwsEndpointUrl(lookup.environment, lookup.config, "sts"));
  if (endpoint.empty()) {
    const AwsVariant variant = AwsVariantOf(lookup.environment, lookup.config, "sts");
    endpoint = AwsRegionalUrl("sts", call.region, variant);
  }
  STOKER_ASSIGN(call.url, ParseAwsUrl("the address of STS", endpoint));
  HttpRequest& request = call.request;
  request.method = "POST";
  request.target = call.url.target.empty() ? "/" : call.url.target;
  request.headers = {{"Host", call.url.host_header},
                     {"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}};
  request.body = "Action=" + action + "&Version=2011-06-15";
  return call;
}

Result<Call> PrepareForRole(const AwsLookup& lookup, const std::string& action,
                            const AwsRole& role) {
  STOKER_ASSIGN(Call call, Prepare(lookup, action));
  const auto add = [&](const std::string& key, const std::string& value) {
    call.request.body += "&" + key + "=" + PercentEncode(value);
  };
  add("RoleArn", role.arn);
  add("RoleSessionName", role.session_name.empty() ? "stoker" : role.session_name);
  if (!role.external_id.empty()) add("ExternalId", role.external_id);
  if (!role.duration.empty()) add("DurationSeconds", role.duration);
  return call;
}

// <ErrorResponse><Error><Code/><Message/></Error></ErrorResponse>
Status Refusal(const AwsRole& role, const HttpResponse& response) {
  pugi::xml_document document;
  std::string said;
  if (document.load_buffer(response.body.data(), response.body.size())) {
    const pugi::xml_node error = document.child("ErrorResponse").child("Error");
    said = std::string(": ") + error.child_value("Code") + ": " + error.child_value("Message");
  }
  if (said.size() <= 4) said.clear();
  const bool later = response.status >= 500 || response.status == 429 ||
                     said.find("Throttling") != std::string::npos;
  return Status(later ? Code::kUnavailable : Code::kDenied,
                role.source + ": STS answered " + std::to_string(response.status) +
                    Printable(said.substr(0, 500)),
                later ? "" : "Check the role's name, and whom its trust policy lets in");
}

Result<AwsCredentials> Send(const AwsLookup& lookup, const Call& call, const AwsRole& role,
                            const std::string& action) {
  const auto response = lookup.environment.http(call.url.base, call.request);
  if (!response.ok()) return response.status().WithContext(role.source);
  if (response->status != 200) return Refusal(role, *response);
  const Status bad(Code::kCorrupt, role.source + ": STS gave an answer without credentials");
  pugi::xml_document document;
  if (!document.load_buffer(response->body.data(), response->body.size())) return bad;
  const pugi::xml_node given = document.child((action + "Response").c_str())
                                   .child((action + "Result").c_str())
                                   .child("Credentials");
  AwsCredentials out;
  out.access_key = given.child_value("AccessKeyId");
  out.secret_key = given.child_value("SecretAccessKey");
  out.session_token = given.child_value("SessionToken");
  out.source = role.source;
  const auto expires = ParseRfc3339(given.child_value("Expiration"));
  if (out.access_key.empty() || out.secret_key.empty() || out.session_token.empty() ||
      !expires.ok()) {
    return bad;
  }
  out.expires = *expires;
  return out;
}

}  // namespace

Result<AwsCredentials> AssumeRole(const AwsLookup& lookup, const AwsRole& role,
                                  const AwsCredentials& giver) {
  STOKER_ASSIGN(Call call, PrepareForRole(lookup, "AssumeRole", role));
  const AwsSigner signer(call.region, "sts");
  STOKER_TRY(signer.Sign(giver, lookup.environment.now(), &call.request));
  return Send(lookup, call, role, "AssumeRole");
}

Result<AwsCredentials> AssumeRoleWithToken(const AwsLookup& lookup, const AwsRole& role,
                                           const std::string& token) {
  STOKER_ASSIGN(Call call, PrepareForRole(lookup, "AssumeRoleWithWebIdentity", role));
  call.request.body += "&WebIdentityToken=" + PercentEncode(token);
  return Send(lookup, call, role, "AssumeRoleWithWebIdentity");
}

Result<std::string> CallerArn(const AwsEnvironment& environment, const AwsConfig& config,
                              const AwsCredentials& credentials) {
  std::vector<std::string> tried;
  STOKER_ASSIGN(Call call, Prepare({environment, config, &tried}, "GetCallerIdentity"));
  const AwsSigner signer(call.region, "sts");
  STOKER_TRY(signer.Sign(credentials, environment.now(), &call.request));
  STOKER_ASSIGN(const HttpResponse response, environment.http(call.url.base, call.request));
  AwsRole nobody;
  nobody.source = "who the credentials are for";
  if (response.status != 200) return Refusal(nobody, response);
  pugi::xml_document document;
  (void)document.load_buffer(response.body.data(), response.body.size());
  const std::string arn = document.child("GetCallerIdentityResponse")
                              .child("GetCallerIdentityResult")
                              .child_value("Arn");
  if (arn.empty()) return Status(Code::kCorrupt, nobody.source + ": STS did not say");
  return Printable(arn);
}

}  // namespace stoker
