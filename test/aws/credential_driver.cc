// SPDX-License-Identifier: Apache-2.0
// Prints, as JSON, what stoker finds in the environment that it is started in, over plain HTTP.
#include <iostream>

#include "aws/config.h"
#include "aws/credential_source.h"
#include "aws/system_environment.h"
#include "base/json.h"
#include "net/http_client.h"
#include "sys/command.h"

extern char** environ;

namespace stoker {
namespace {

Result<AwsProcessOutput> Run(const std::vector<std::string>& argv) {
  sys::Command command;
  command.argv = argv;
  for (char** at = environ; *at != nullptr; ++at) command.env.emplace_back(*at);
  auto results = sys::RunCommands({command}, 60'000);
  if (!results[0].ok()) return results[0].status();
  return AwsProcessOutput{results[0]->exit_code, results[0]->out, results[0]->err};
}

Result<HttpResponse> Send(const std::string& base_url, const HttpRequest& request) {
  STOKER_ASSIGN(const HttpUrl url, ParseHttpUrl(base_url));
  return HttpCall(url, request);
}

nlohmann::json Answer() {
  const AwsEnvironment environment = SystemAwsEnvironment(Send, Run);
  AwsCredentialSource source(environment);
  const auto found = source.Get();
  if (!found.ok()) return {{"error", found.status().ToString()}};
  const auto config = ReadAwsConfig(environment);
  if (!config.ok()) return {{"error", config.status().ToString()}};
  return {{"access_key", found->access_key},
          {"secret_key", found->secret_key},
          {"token", found->session_token},
          {"expires", found->expires ? FormatRfc3339(*found->expires) : ""},
          {"source", found->source},
          {"region", AwsRegion(environment, *config)}};
}

}  // namespace
}  // namespace stoker

int main() { std::cout << stoker::Answer().dump() << "\n"; }
