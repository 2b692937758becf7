// SPDX-License-Identifier: Apache-2.0
// How this machine's user reaches Amazon.
#include <memory>
#include <utility>

#include "aws/account/account.h"
#include "net/http_client.h"
#include "net/system.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker {
namespace {

// As settings name it, where that is another word than in its addresses.
std::string AwsServiceId(const std::string& service) {
  if (service == "logs") return "cloudwatch_logs";
  if (service == "events") return "eventbridge";
  return service == "secretsmanager" ? "secrets_manager" : service;
}

}  // namespace

Result<std::shared_ptr<ec2::AwsApi>> MakeAwsApi(std::shared_ptr<Cache> memory,
                                                std::optional<HttpTimeouts> timeouts) {
  STOKER_ASSIGN(const AwsAccount found, FindAwsAccount(timeouts));
  auto account = std::make_shared<const AwsAccount>(found);
  auto keys = std::make_shared<AwsKeys>(account->outside);
  ec2::AwsApiOptions options;
  options.credentials = [keys] { return keys->Get(); };
  options.credentials_refused = [keys] { keys->Refused(); };
  options.url = [account](const std::string& service,
                          const std::string& region) -> Result<std::string> {
    STOKER_ASSIGN(const std::string own,
                  AwsEndpointUrl(account->outside, account->config, AwsServiceId(service)));
    if (!own.empty()) return own;
    // Of IAM there is one in each part of the cloud.
    if (service == "iam" && AwsPartition(region) == "aws") {
      return std::string("https://iam.amazonaws.com");
    }
    const AwsVariant variant = AwsVariantOf(account->outside, account->config, service);
    const bool api = service == "ecr" && !variant.fips && !variant.dualstack;
    return AwsRegionalUrl(api ? "api.ecr" : service, region, variant);
  };
  options.memory = std::move(memory);
  options.now = SystemNow;
  options.seed = SystemSeed();
  auto pool = std::make_shared<HttpPool>(account->http);
  options.http = [pool](const HttpUrl& url, const HttpRequest& request) {
    return pool->Call(url, request);
  };
  return std::make_shared<ec2::AwsApi>(std::move(options));
}

}  // namespace stoker
