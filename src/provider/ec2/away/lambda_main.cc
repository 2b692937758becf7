// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/away/lambda_main.h"

#include <cstdio>

#include "provider/cloud/away/away_run.h"
#include "provider/ec2/away/ec2_asked.h"
#include "provider/ec2/away/lambda_event.h"
#include "provider/ec2/away/lambda_runtime.h"
#include "provider/ec2/broker/ec2_broker.h"

namespace stoker {
namespace {

Result<AwayReport> Look(const ec2::LambdaCall& call) {
  cloud::AwayRunner runner;
  runner.infra = "aws";
  runner.id = call.id;
  runner.instance = ec2::InstanceOfEvent(call.event);
  runner.broker = MakeEc2Broker;
  runner.understand = AskedOfEc2;
  runner.left = [&](Clock& clock) { return call.deadline - clock.Wall(); };
  return cloud::RunAwayOnce(runner);
}

Result<std::string> Handle(const ec2::LambdaCall& call) {
  const auto report = Look(call);
  // A line in the function's log group for each call.
  const std::string line = report.ok() ? cloud::Encode(*report) : report.status().ToString();
  std::fprintf(stderr, "%s\n", line.c_str());
  if (!report.ok()) return report.status();
  return line;
}

}  // namespace

std::optional<int> LambdaMain() {
  const std::string api = cloud::AwayVariable("AWS_LAMBDA_RUNTIME_API");
  if (api.empty() || cloud::AwayVariable(cloud::kAwayBoundVariable).empty()) return std::nullopt;
  const Status why = ec2::ServeLambda(api, Handle);
  std::fprintf(stderr, "stoker: %s\n", why.ToString().c_str());
  return 1;  // Lambda starts another one
}

}  // namespace stoker
