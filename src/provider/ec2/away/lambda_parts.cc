// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/away/lambda_parts.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/base64.h"
#include "base/json.h"
#include "provider/ec2/away/lambda_event.h"
#include "provider/ec2/broker/ec2_rights.h"
#include "provider/ec2/ec2_request.h"

namespace stoker::ec2 {
namespace {

using Json = nlohmann::json;

constexpr char kFunctions[] = "/2015-03-31/functions";
constexpr char kRuntime[] = "provided.al2023";
constexpr char kInline[] = "stoker-away";  // the role's policy
constexpr char kTarget[] = "function";
// Lambda repeats what failed twice, after one and two minutes.
constexpr int kRepeats = 2;
constexpr int kEventSeconds = 300;

// In dollars, of us-east-1. Source: "Lambda" of "How AWS Pricing Works" (AWS whitepaper), and the
// price lists of S3 and CloudWatch, as read in November 2026.
constexpr char kMonthOf[] = "November 2026";
constexpr double kPerCall = 0.2 / 1e6;
constexpr double kPerGbSecond = 0.0000166667;
constexpr double kPerLogGb = 0.5;
constexpr double kPerPut = 0.005 / 1000;  // and list
constexpr double kPerGet = 0.0004 / 1000;
// Of one call, while nothing happens.
constexpr double kSecondsOfCall = 3, kLogBytesOfCall = 1000, kPutsOfCall = 6, kGetsOfCall = 6;

#if defined(__aarch64__)
constexpr char kArchitecture[] = "arm64";
#else
constexpr char kArchitecture[] = "x86_64";
#endif

Json Tags(const std::string& ledger) { return {{kLedgerTag, ledger}}; }

Call Rest(const LambdaMaking& making, const char* action, const char* method,
          const std::string& path, const Json& body = {}) {
  Call call{"lambda", making.region, action};
  call.method = method;
  call.path = path;
  if (!body.is_null()) call.json = body.dump();
  return call;
}

Call Targeted(const std::string& service, const std::string& region, const char* action,
              const Json& body) {
  Call call{service, region, action};
  call.json = body.dump();
  return call;
}

std::string PathOf(const LambdaMaking& making) {
  return std::string(kFunctions) + "/" + LambdaNames(making.ledger).function;
}

Json Configuration(const LambdaMaking& making) {
  return {{"Role", making.role_arn},
          {"Handler", "bootstrap"},
          {"Runtime", kRuntime},
          {"Description", "stoker: looks after the jobs of the ledger " + making.ledger},
          {"Timeout", kLambdaSeconds},
          {"MemorySize", kLambdaMegabytes},
          {"Environment", {{"Variables", making.variables}}}};
}

}  // namespace

std::string CodeDigest(std::string_view zip) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  auto* to = reinterpret_cast<unsigned char*>(digest.data());
  if (EVP_Digest(zip.data(), zip.size(), to, &size, EVP_sha256(), nullptr) != 1) size = 0;
  return Base64(std::string_view(digest).substr(0, size));
}

LambdaNames::LambdaNames(const std::string& ledger)
    : function(kAwayName + ledger),
      role(function),
      log_group("/aws/lambda/" + function),
      rules{function + "-time", function + "-instances"} {}

std::string LambdaMonth() {
  const double calls = 30.0 * 24 * 60 / kLambdaEveryMinutes;
  const double lambda =
      calls * (kPerCall + kSecondsOfCall * kLambdaMegabytes / 1024 * kPerGbSecond);
  const double store = calls * (kPutsOfCall * kPerPut + kGetsOfCall * kPerGet);
  const double logs = calls * kLogBytesOfCall / 1e9 * kPerLogGb;
  return fmt::format(
      "about {:.2f} $ a month by the list prices of us-east-1 in {}: {:.0f} calls of {:.0f} s "
      "{:.2f} $ (within Lambda's free allowance, if nothing else uses it), requests to the bucket "
      "{:.2f} $, log {:.2f} $; rules and EC2's own events cost nothing. More where there are many "
      "jobs, and what machines cost that it asks for",
      lambda + store + logs, kMonthOf, calls, kSecondsOfCall, lambda, store, logs);
}

Call CreateRole(const LambdaMaking& making, const std::string& trust) {
  return {"iam",
          making.region,
          "CreateRole",
          {{"RoleName", LambdaNames(making.ledger).role},
           {"AssumeRolePolicyDocument", trust},
           {"Description", "stoker: of the function that looks after jobs"},
           {"Tags.member.1.Key", kLedgerTag},
           {"Tags.member.1.Value", making.ledger}}};
}

Call PutRolePolicy(const LambdaMaking& making, const std::string& policy) {
  return {"iam",
          making.region,
          "PutRolePolicy",
          {{"RoleName", LambdaNames(making.ledger).role},
           {"PolicyName", kInline},
           {"PolicyDocument", policy}}};
}

Call CreateLogGroup(const LambdaMaking& making) {
  return Targeted(
      "logs", making.region, "CreateLogGroup",
      {{"logGroupName", LambdaNames(making.ledger).log_group}, {"tags", Tags(making.ledger)}});
}

Call PutRetention(const LambdaMaking& making) {
  return Targeted("logs", making.region, "PutRetentionPolicy",
                  {{"logGroupName", LambdaNames(making.ledger).log_group},
                   {"retentionInDays", kLambdaLogDays}});
}

Call GetFunction(const LambdaMaking& making) {
  return Rest(making, "GetFunction", "GET", PathOf(making));
}

Call CreateFunction(const LambdaMaking& making) {
  Json body = Configuration(making);
  body["FunctionName"] = LambdaNames(making.ledger).function;
  body["Code"] = {{"ZipFile", Base64(making.zip)}};
  body["PackageType"] = "Zip";
  body["Architectures"] = {kArchitecture};
  body["Tags"] = Tags(making.ledger);
  return Rest(making, "CreateFunction", "POST", kFunctions, body);
}

Call UpdateCode(const LambdaMaking& making) {
  return Rest(making, "UpdateFunctionCode", "PUT", PathOf(making) + "/code",
              {{"ZipFile", Base64(making.zip)}, {"Architectures", {kArchitecture}}});
}

Call UpdateConfiguration(const LambdaMaking& making) {
  return Rest(making, "UpdateFunctionConfiguration", "PUT", PathOf(making) + "/configuration",
              Configuration(making));
}

Call LimitEvents(const LambdaMaking& making) {
  return Rest(
      making, "PutFunctionEventInvokeConfig", "PUT",
      "/2019-09-25/functions/" + LambdaNames(making.ledger).function + "/event-invoke-config",
      {{"MaximumRetryAttempts", kRepeats}, {"MaximumEventAgeInSeconds", kEventSeconds}});
}

Call ReserveOne(const LambdaMaking& making) {
  return Rest(making, "PutFunctionConcurrency", "PUT",
              "/2017-10-31/functions/" + LambdaNames(making.ledger).function + "/concurrency",
              {{"ReservedConcurrentExecutions", 1}});
}

Call PutRule(const LambdaMaking& making, size_t rule) {
  Json body = {{"Name", LambdaNames(making.ledger).rules[rule]},
               {"State", "ENABLED"},
               {"Description", "stoker: looks after the jobs of the ledger " + making.ledger},
               {"Tags", {{{"Key", kLedgerTag}, {"Value", making.ledger}}}}};
  if (rule == 0) {
    body["ScheduleExpression"] = fmt::format("rate({} minutes)", kLambdaEveryMinutes);
  } else {
    body["EventPattern"] = InstanceEventPattern();
  }
  return Targeted("events", making.region, "PutRule", body);
}

Call AllowRule(const LambdaMaking& making, size_t rule, const std::string& rule_arn) {
  return Rest(making, "AddPermission", "POST", PathOf(making) + "/policy",
              {{"StatementId", rule == 0 ? "time" : "instances"},
               {"Action", "lambda:InvokeFunction"},
               {"Principal", "events.amazonaws.com"},
               {"SourceArn", rule_arn}});
}

Call PutTarget(const LambdaMaking& making, size_t rule, const std::string& function_arn) {
  return Targeted("events", making.region, "PutTargets",
                  {{"Rule", LambdaNames(making.ledger).rules[rule]},
                   {"Targets", {{{"Id", kTarget}, {"Arn", function_arn}}}}});
}

std::vector<Call> Endings(const std::string& ledger, const std::string& region) {
  const LambdaNames names(ledger);
  LambdaMaking making;
  making.ledger = ledger;
  making.region = region;
  std::vector<Call> calls = {Rest(making, "DeleteFunction", "DELETE", PathOf(making))};
  for (const std::string& rule : names.rules) {
    calls.push_back(
        Targeted("events", region, "RemoveTargets", {{"Rule", rule}, {"Ids", {kTarget}}}));
    calls.push_back(Targeted("events", region, "DeleteRule", {{"Name", rule}}));
  }
  calls.push_back(Targeted("logs", region, "DeleteLogGroup", {{"logGroupName", names.log_group}}));
  calls.push_back(
      {"iam", region, "DeleteRolePolicy", {{"RoleName", names.role}, {"PolicyName", kInline}}});
  calls.push_back({"iam", region, "DeleteRole", {{"RoleName", names.role}}});
  return calls;
}

std::vector<std::pair<std::string, Call>> Lookings(const std::string& ledger,
                                                   const std::string& region) {
  const LambdaNames names(ledger);
  LambdaMaking making;
  making.ledger = ledger;
  making.region = region;
  std::vector<std::pair<std::string, Call>> calls;
  for (const std::string& rule : names.rules) {
    calls.emplace_back("the rule " + rule,
                       Targeted("events", region, "DescribeRule", {{"Name", rule}}));
  }
  calls.emplace_back("the function " + names.function, GetFunction(making));
  calls.emplace_back(
      "the log group " + names.log_group,
      Targeted("logs", region, "DescribeLogGroups", {{"logGroupNamePrefix", names.log_group}}));
  calls.emplace_back("the role " + names.role,
                     Call{"iam", region, "GetRole", {{"RoleName", names.role}}});
  return calls;
}

}  // namespace stoker::ec2
