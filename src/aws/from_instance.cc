// SPDX-License-Identifier: Apache-2.0
// Source: "Use the Instance Metadata Service" and "Retrieve security credentials from instance
// metadata" (EC2 user guide).
#include <algorithm>

#include "aws/credential_json.h"
#include "aws/sources.h"
#include "aws/url.h"
#include "base/text.h"
#include "net/percent.h"

namespace stoker {
namespace {

constexpr char kRoles[] = "/latest/meta-data/iam/security-credentials/";
constexpr char kSource[] = "the instance's role (EC2 metadata)";
// While the service cannot renew them, it hands out credentials that are over or almost, and EC2
// and its services honour them for longer: they are asked for again after 10 minutes.
constexpr Duration kExtension = Duration::Minutes(25);

Result<AwsUrl> Endpoint(const AwsLookup& lookup) {
  const auto setting = [&](const char* variable, const char* key) {
    return AwsSetting(lookup.environment, lookup.config, variable, key);
  };
  const std::string url =
      setting("AWS_EC2_METADATA_SERVICE_ENDPOINT", "ec2_metadata_service_endpoint");
  if (!url.empty()) return ParseAwsUrl("AWS_EC2_METADATA_SERVICE_ENDPOINT", url);
  std::string mode =
      setting("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "ec2_metadata_service_endpoint_mode");
  std::transform(mode.begin(), mode.end(), mode.begin(), [](char c) { return c | 0x20; });
  return ParseAwsUrl("", mode == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254");
}

std::string Answered(const HttpResponse& response) {
  return "the metadata service answered " + std::to_string(response.status);
}

class Metadata {
 public:
  Metadata(const AwsLookup& lookup, AwsUrl url) : lookup_(lookup), url_(std::move(url)) {
    while (EndsWith(url_.target, "/")) url_.target.pop_back();
  }

  bool IsThere() const { return lookup_.environment.listens(url_.base); }

  // Of a service that is there: no answer, or a damaged one, is an answer that may come later.
  Result<HttpResponse> Call(const char* method, const std::string& path, const char* header,
                            const std::string& value) {
    HttpRequest request{method, url_.target + path, {}, ""};
    request.headers = {{"Host", url_.host_header}, {header, value}};
    auto response = lookup_.environment.http(url_.base, request);
    const bool later = response.ok() && (response->status >= 500 || response->status == 429);
    if (response.ok() && !later) return response;
    return Status(
        Code::kUnavailable,
        std::string(kSource) + ": " + (later ? Answered(*response) : response.status().message()),
        "Try again; in a container, the instance's metadata hop limit must be 2 or more; "
        "AWS_EC2_METADATA_DISABLED=true says that there is no role");
  }
  Result<HttpResponse> Get(const std::string& path) {
    return Call("GET", path, "X-aws-ec2-metadata-token", token);
  }

  std::string token;

 private:
  const AwsLookup& lookup_;
  AwsUrl url_;
};

bool OneLine(const std::string& text) {
  return !text.empty() && text.size() <= 512 && Printable(text) == text;
}

}  // namespace

AwsFound FromInstance(const AwsLookup& lookup) {
  const auto miss = [&](const std::string& why) {
    lookup.Miss("no EC2 instance role (" + why + ")");
    return std::optional<AwsCredentials>();
  };
  if (AwsFlag(lookup.environment.variable("AWS_EC2_METADATA_DISABLED"))) {
    return miss("AWS_EC2_METADATA_DISABLED is set");
  }
  STOKER_ASSIGN(AwsUrl url, Endpoint(lookup));
  Metadata metadata(lookup, std::move(url));
  if (!metadata.IsThere()) return miss("no metadata service: nobody takes a connection");
  STOKER_ASSIGN(
      const HttpResponse token,
      metadata.Call("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "21600"));
  if (token.status != 200) return miss(Answered(token) + " to the request for a token");
  if (!OneLine(token.body)) return miss("the metadata service gives no token");
  metadata.token = token.body;
  STOKER_ASSIGN(const HttpResponse roles, metadata.Get(kRoles));
  if (roles.status == 404) return miss("the instance has none");
  const std::string role = roles.body.substr(0, roles.body.find('\n'));
  if (roles.status != 200 || !OneLine(role)) return miss(Answered(roles));
  STOKER_ASSIGN(const HttpResponse keys, metadata.Get(kRoles + PercentEncode(role)));
  if (keys.status != 200) return miss(Answered(keys) + " about role " + role);
  const std::string code = JsonMember(keys.body, "Code");
  if (!code.empty() && code != "Success") return miss("role " + role + ": " + Printable(code));
  STOKER_ASSIGN(AwsCredentials out, CredentialsOfJson(kSource, keys.body, {}));
  const WallTime now = lookup.environment.now();
  if (*out.expires - now < kExtension - Duration::Minutes(10)) out.expires = now + kExtension;
  return std::optional(std::move(out));
}

}  // namespace stoker
