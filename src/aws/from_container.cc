// SPDX-License-Identifier: Apache-2.0
// Source: "Container credential provider" (AWS SDKs and tools reference guide).
#include <array>

#include "aws/credential_json.h"
#include "aws/sources.h"
#include "aws/url.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr char kEcsAgent[] = "http://169.254.170.2";

// Credentials come back in the clear, so http:// is for this machine and its agents alone.
bool MayBeAsked(const AwsUrl& url) {
  static constexpr std::array<std::string_view, 5> kAgents = {"169.254.170.2", "169.254.170.23",
                                                              "fd00:ec2::23", "localhost", "::1"};
  if (url.tls) return true;
  for (const std::string_view agent : kAgents) {
    if (url.host == agent) return true;
  }
  return StartsWith(url.host, "127.") &&
         url.host.find_first_not_of("0123456789.") == std::string::npos;
}

Result<std::string> Token(const AwsEnvironment& environment) {
  std::string token;
  if (const auto path = environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    auto text = environment.read_file(*path);
    if (!text.ok()) return text.status().WithContext("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    token = std::move(*text);
  } else {
    token = environment.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN").value_or("");
  }
  if (token.find_first_of("\r\n") != std::string::npos) {
    return Status(Code::kInvalid, "the container's authorization token has a line break");
  }
  return token;
}

}  // namespace

AwsFound FromContainer(const AwsLookup& lookup) {
  const auto& environment = lookup.environment;
  const auto relative = environment.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const auto full = environment.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative && !full) {
    lookup.Miss("no container service (AWS_CONTAINER_CREDENTIALS_…_URI is not set)");
    return std::optional<AwsCredentials>();
  }
  const std::string where =
      relative ? "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI" : "AWS_CONTAINER_CREDENTIALS_FULL_URI";
  STOKER_ASSIGN(const AwsUrl url, ParseAwsUrl(where, relative ? kEcsAgent + *relative : *full));
  if (!MayBeAsked(url)) {
    return Status(Code::kInvalid,
                  where + ": " + Printable(url.host) + " may not be asked without TLS",
                  "Use https://, a loopback address, or the agent's of ECS or EKS");
  }
  HttpRequest request{"GET", url.target.empty() ? "/" : url.target, {}, ""};
  request.headers = {{"Host", url.host_header}, {"Accept", "application/json"}};
  STOKER_ASSIGN(const std::string token, Token(environment));
  if (!token.empty()) request.headers.emplace_back("Authorization", token);
  auto response = environment.http(url.base, request);
  if (!response.ok()) return response.status().WithContext(where);
  if (response->status != 200) {
    return Status(response->status >= 500 ? Code::kUnavailable : Code::kDenied,
                  where + ": the service answered " + std::to_string(response->status));
  }
  STOKER_ASSIGN(AwsCredentials out,
                CredentialsOfJson("the container's role (" + where + ")", response->body, {}));
  return std::optional(std::move(out));
}

}  // namespace stoker
