// SPDX-License-Identifier: Apache-2.0
// EC2 as the lab plays it, and the lab's side of it: api.py says what each order does.
#pragma once

#include <string>

#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/ec2_options.h"
#include "provider/ec2/ec2_provider.h"
#include "provider/ec2/ec2_request.h"
#include "sys/real_clock.h"
#include "test/ec2/orders.h"

namespace stoker::ec2_test {

using lab_test::Order;

inline std::shared_ptr<ec2::AwsApi> Api() { return std::move(*MakeAwsApi()); }

inline cloud::Notes Notes() {
  cloud::Notes notes;
  notes.places = [] { return Result<std::vector<std::string>>({"us-east-1"}); };
  notes.note_place = [](const std::string&) { return Status::Ok(); };
  notes.drill = [](const std::string&, const std::string& id, Duration lead) {
    return Order("drill?id=" + id + "&ms=" + std::to_string(lead.ms)) == "ok"
               ? Status::Ok()
               : Status(Code::kUnavailable, "the lab does not answer");
  };
  notes.store_now = [] { return std::optional(RealClock().Wall()); };
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
