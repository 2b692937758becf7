// SPDX-License-Identifier: Apache-2.0
// EC2 as the lab plays it, and the lab's side of it: api.py says what each order does.
#pragma once

#include <cstdlib>
#include <string>

#include "net/http_client.h"
#include "net/percent.h"
#include "provider/ec2/aws_api.h"
#include "provider/ec2/ec2_options.h"
#include "provider/ec2/ec2_provider.h"
#include "provider/ec2/ec2_request.h"

namespace stoker::ec2_test {

inline std::string Setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// An order to whoever plays EC2: "refuse?code=X"; its answer, or "" when it fails.
inline std::string Order(const std::string& what) {
  const auto url = ParseHttpUrl(Setting("STOKER_TEST_CONTROL"));
  if (!url.ok()) return "";
  HttpRequest request;
  request.target = "/" + what;
  HttpClientOptions options;
  options.total_timeout = Duration::Seconds(20);
  const auto answer = HttpCall(*url, request, options);
  return answer.ok() && answer->status == 200 ? answer->body : "";
}

inline std::shared_ptr<ec2::AwsApi> Api() { return std::move(*MakeAwsApi()); }

inline Ec2Notes Notes() {
  Ec2Notes notes;
  notes.regions = [] { return Result<std::vector<std::string>>({"us-east-1"}); };
  notes.note_region = [](const std::string&) { return Status::Ok(); };
  notes.drill = [](const std::string&, const std::string& id, Duration lead) {
    return Order("drill?id=" + id + "&ms=" + std::to_string(lead.ms)) == "ok"
               ? Status::Ok()
               : Status(Code::kUnavailable, "the lab does not answer");
  };
  return notes;
}

inline LaunchRequest RequestOf(const std::string& name, WallTime now) {
  LaunchRequest request;
  request.token = name;
  request.ledger_id = "ledger";
  request.store_url = "s3://bucket/prefix";
  request.job = "job";
  request.launches = {3};
  request.ask.place = {kEc2Provider, "", "us-east-1", "us-east-1a"};
  request.ask.type = "m5.large";
  request.ask.image = "ami-0a120230000000064";
  request.ask.market = ec2::kOnDemand;
  ec2::Options options;
  options.store_region = "us-east-1";
  request.ask.options = ec2::EncodeOptions(options);
  request.binary_digest = std::string(64, 'b');
  request.limit = Duration::Minutes(5);
  request.not_after = now + Duration::Seconds(50);
  return request;
}

}  // namespace stoker::ec2_test
