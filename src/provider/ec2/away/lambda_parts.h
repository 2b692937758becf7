// SPDX-License-Identifier: Apache-2.0
// The parts of a function and the calls that make and end each; inside provider/ec2 only. Pure.
// Sources: the API references of IAM, Lambda, EventBridge and CloudWatch Logs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "provider/ec2/api/aws_api.h"

namespace stoker::ec2 {

inline constexpr int kLambdaMegabytes = 256;
inline constexpr int kLambdaSeconds = 120;
inline constexpr int kLambdaEveryMinutes = 5;
inline constexpr int kLambdaLogDays = 30;

// Names by the ledger's id.
struct LambdaNames {
  explicit LambdaNames(const std::string& ledger);
  std::string function, role, log_group;
  std::vector<std::string> rules;  // that of time, that of instances
};

// As Lambda tells it of the code that it has.
std::string CodeDigest(std::string_view zip);

// A list-price month of it, for people: EC2's own events and rules by time cost nothing.
std::string LambdaMonth();

// All that makes calls needs to know.
struct LambdaMaking {
  std::string ledger;
  std::string region;
  std::map<std::string, std::string> variables;
  std::string role_arn;
  std::string zip;
};

Call CreateRole(const LambdaMaking& making, const std::string& trust);
Call PutRolePolicy(const LambdaMaking& making, const std::string& policy);
Call CreateLogGroup(const LambdaMaking& making);
Call PutRetention(const LambdaMaking& making);
Call GetFunction(const LambdaMaking& making);
Call CreateFunction(const LambdaMaking& making);
Call UpdateCode(const LambdaMaking& making);
Call UpdateConfiguration(const LambdaMaking& making);
// What is called while it runs is repeated for so long as makes sense.
Call LimitEvents(const LambdaMaking& making);
// One at a time.
Call ReserveOne(const LambdaMaking& making);
Call PutRule(const LambdaMaking& making, size_t rule);
Call AllowRule(const LambdaMaking& making, size_t rule, const std::string& rule_arn);
Call PutTarget(const LambdaMaking& making, size_t rule, const std::string& function_arn);

// Those that take it all away, in their order, the function first; each is ok where there is
// nothing.
std::vector<Call> Endings(const std::string& ledger, const std::string& region);
// Those that tell what is there, with a name for people; each is refused where there is nothing,
// but for the list of log groups.
std::vector<std::pair<std::string, Call>> Lookings(const std::string& ledger,
                                                   const std::string& region);

}  // namespace stoker::ec2
