// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "provider/cloud/away/away_run.h"
#include "provider/ec2/away/ec2_asked.h"
#include "provider/ec2/away/lambda_event.h"
#include "provider/ec2/away/lambda_parts.h"
#include "provider/ec2/away/lambda_policy.h"
#include "provider/ec2/away/lambda_taking.h"
#include "provider/ec2/away/one_file_zip.h"
#include "provider/ec2/broker/ec2_rights.h"
#include "provider/ec2/ec2_options.h"

namespace stoker {
namespace {

// As the EC2 user guide prints it.
constexpr char kWarning[] = R"({
  "version": "0", "id": "12345678-1234-1234-1234-123456789012",
  "detail-type": "EC2 Spot Instance Interruption Warning", "source": "aws.ec2",
  "account": "123456789012", "time": "2026-11-28T00:00:00Z", "region": "us-east-2",
  "resources": ["arn:aws:ec2:us-east-2a:instance/i-1234567890abcdef0"],
  "detail": {"instance-id": "i-1234567890abcdef0", "instance-action": "terminate"}})";

TEST(LambdaEvent, NamesItsInstance) {
  EXPECT_EQ(ec2::InstanceOfEvent(kWarning), "i-1234567890abcdef0");
}

TEST(LambdaEvent, WhateverElseIsSaidIsOnlyTime) {
  for (const char* text :
       {"", "null", "[]", "{}", "{\"source\": 1}",
        R"({"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}})",
        R"({"source": "aws.ec2"})", R"({"source": "aws.ec2", "detail": "i-1"})",
        R"({"source": "aws.ec2", "detail": {"instance-id": 7}})",
        R"({"source": "aws.ec2", "detail": {"instance-id": "i-../../x"}})",
        R"({"source": "mine", "detail": {"instance-id": "i-1"}})"}) {
    EXPECT_EQ(ec2::InstanceOfEvent(text), "") << text;
  }
}

Ask Large(const char* market, std::optional<int64_t> ceiling = {}) {
  ec2::Options options;
  options.profile = "node";
  options.disks = {{"/dev/xvda", 100}, {"/dev/xvdb", 50}};
  Ask ask;
  ask.place = {"ec2", "", "us-east-1", "us-east-1a"};
  ask.type = "m5.large";
  ask.market = market;
  ask.ceiling = ceiling;
  ask.options = ec2::EncodeOptions(options);
  return ask;
}

TEST(AskedOfEc2, IsWhatTheRequestComesTo) {
  const auto asked = AskedOfEc2(Large("on-demand"));
  ASSERT_TRUE(asked.ok()) << asked.status().ToString();
  EXPECT_EQ(asked->region, "us-east-1");
  EXPECT_EQ(asked->type, "m5.large");
  EXPECT_EQ(asked->price, 96'000);
  EXPECT_EQ(asked->disk_gib, 150);
  EXPECT_EQ(asked->identity, "node");
}

TEST(AskedOfEc2, ACeilingCountsOnSpotAlone) {
  EXPECT_EQ(AskedOfEc2(Large("spot", 50'000))->price, 50'000);
  EXPECT_EQ(AskedOfEc2(Large("spot", 500'000))->price, 96'000);
  EXPECT_EQ(AskedOfEc2(Large("on-demand", 50'000))->price, 96'000);
  Ask unknown = Large("spot", 50'000);
  unknown.type = "x9.huge";
  EXPECT_EQ(AskedOfEc2(unknown)->price, 50'000);
  unknown.ceiling.reset();
  EXPECT_FALSE(AskedOfEc2(unknown)->price.has_value());
}

TEST(AskedOfEc2, WhatIsNoneOfItsOwnIsNotUnderstood) {
  Ask ask = Large("spot");
  ask.place.provider = "elsewhere";
  EXPECT_FALSE(AskedOfEc2(ask).ok());
  ask = Large("spot");
  ask.options = "what?";
  EXPECT_FALSE(AskedOfEc2(ask).ok());
}

TEST(AskedOfEc2, DisksDoNotOverflow) {
  ec2::Options options;
  options.profile = "node";
  const int64_t most = 16'384;
  for (int i = 0; i < 20; ++i) options.disks.push_back({"/dev/xvda", most});
  Ask ask = Large("spot");
  ask.options = ec2::EncodeOptions(options);
  const auto asked = AskedOfEc2(ask);
  if (asked.ok()) EXPECT_EQ(asked->disk_gib, 20 * most);
}

TEST(OneFileZip, HasTheSameBytesEachTime) {
  const std::string zip = ec2::OneFileZip("bootstrap", std::string(100'000, 'x'));
  EXPECT_EQ(zip.substr(0, 4), std::string("PK\x03\x04", 4));
  EXPECT_LT(zip.size(), 1'000U);
  EXPECT_EQ(zip, ec2::OneFileZip("bootstrap", std::string(100'000, 'x')));
  EXPECT_NE(ec2::CodeDigest(zip), ec2::CodeDigest(ec2::OneFileZip("bootstrap", "y")));
}

TEST(LambdaParts, WhatIsMadeIsTakenAway) {
  const ec2::LambdaNames names("l1");
  std::string endings;
  for (const ec2::Call& call : ec2::Endings("l1", "us-east-1")) {
    endings += call.action + call.path + call.json;
    for (const auto& [name, value] : call.params) endings += value;
  }
  for (const std::string& name :
       {names.function, names.role, names.log_group, names.rules[0], names.rules[1]}) {
    EXPECT_NE(endings.find(name), std::string::npos) << name;
  }
}

// Services of which some regions do not answer, and what is there of each region.
struct Account {
  std::set<std::string> silent, denied;  // regions
  std::set<std::string> functions;       // regions that have one
  std::vector<std::string> ended;        // calls, each with its region

  Result<HttpResponse> Send(const HttpUrl& url, const HttpRequest& request) {
    const std::string region = Split(url.host, '.')[1];
    if (silent.contains(region)) return Status(Code::kUnavailable, "silent");
    if (denied.contains(region)) return Json(403, R"({"__type": "AccessDeniedException"})");
    if (StartsWith(url.host, "iam")) {
      return HttpResponse{
          404, {}, "<ErrorResponse><Error><Code>NoSuchEntity</Code></Error></ErrorResponse>"};
    }
    if (request.method == "DELETE") {
      ended.push_back(region);
      functions.erase(region);
    }
    if (request.method == "GET" && functions.contains(region)) return Json(200, "{}");
    return Json(404, R"({"__type": "ResourceNotFoundException"})");
  }
  static HttpResponse Json(int status, const std::string& body) { return {status, {}, body}; }
  AwayTaken Take(const AwayWhere& where) {
    ec2::AwsApiOptions options;
    options.credentials = [] { return Result<AwsCredentials>({"AKIA", "secret", "", {}, "test"}); };
    options.url = [](const std::string& service, const std::string& region) {
      return Result<std::string>("http://" + service + "." + region + ".test");
    };
    options.now = [] { return WallTime{1'700'000'000'000}; };
    options.retry.first = options.retry.longest = Duration::Ms(1);
    options.http = [this](const HttpUrl& url, const HttpRequest& request) {
      return Send(url, request);
    };
    ec2::AwsApi api(std::move(options));
    return ec2::TakeAway(api, "l1", where);
  }
};

TEST(TakeAway, ARegionThatCannotBeAskedHidesNothingOfTheOthers) {
  Account account;
  account.functions = {"home"};
  account.silent = {"far"};
  account.denied = {"shut"};
  const AwayTaken taken = account.Take({{"far", "home", "shut"}});
  EXPECT_EQ(account.ended, std::vector<std::string>{"home"});
  EXPECT_EQ(taken.taken, std::vector<std::string>{"the function stoker-away-l1 in home"});
  ASSERT_FALSE(taken.left.ok());
  EXPECT_NE(taken.left.message().find("not known of far: "), std::string::npos);
  EXPECT_NE(taken.left.message().find("not known of shut: "), std::string::npos);
  EXPECT_EQ(taken.left.message().find("of home"), std::string::npos) << taken.left.message();
  EXPECT_TRUE(account.Take({{"home"}}).left.ok());
  EXPECT_TRUE(account.Take({{"home"}}).taken.empty());
}

TEST(TakeAway, TheFunctionIsTheFirstToEnd) {
  EXPECT_EQ(ec2::Endings("l1", "home").front().action, "DeleteFunction");
}

TEST(AwayStore, ACopyOfTheBucketIsAnotherLedger) {
  EXPECT_TRUE(cloud::CheckAwayStore("", "s3://b").ok());
  EXPECT_TRUE(cloud::CheckAwayStore("s3://b", "s3://b").ok());
  const Status other = cloud::CheckAwayStore("s3://b", "s3://copy");
  EXPECT_TRUE(other.Is(Code::kInvalid));
  EXPECT_NE(other.message().find("s3://b"), std::string::npos);
}

// The rights that installer.json gives on `resource`.
std::set<std::string> AllowedOn(const nlohmann::json& policy, const std::string& resource) {
  std::set<std::string> out;
  for (const auto& each : policy["Statement"]) {
    std::string pattern = each["Resource"];
    pattern.pop_back();  // '*'
    // Of the pattern's regions and accounts.
    const std::string end = pattern.substr(pattern.rfind('*') + 1);
    if (!StartsWith(resource, end.substr(end.find(':') + 1))) continue;
    const auto& actions = each["Action"];
    if (actions.is_string()) out.insert(actions.get<std::string>());
    if (actions.is_array()) out.insert(actions.begin(), actions.end());
  }
  return out;
}

TEST(LambdaPolicy, WhoeverInstallsItMayMakeAndEndAllParts) {
  constexpr char kNone[] = R"({"Version": "2012-10-17", "Statement": []})";
  const Rights of_store{{{kSubmitterFile, "", kNone}, {kNodeFile, "", kNone}}, {}, ""};
  auto rights = AddEc2Rights(of_store, "s3://b", "us-east-1", "stoker");
  ASSERT_TRUE(rights.ok());
  ASSERT_NE(rights->Find("installer.json"), nullptr);
  const auto policy = nlohmann::json::parse(*rights->Find("installer.json"));
  const ec2::LambdaNames names("l1");
  const std::set<std::string> role = AllowedOn(policy, "role/" + names.role);
  const std::set<std::string> function = AllowedOn(policy, "function:" + names.function);
  const std::set<std::string> rule = AllowedOn(policy, "rule/" + names.rules[1]);
  const std::set<std::string> log = AllowedOn(policy, "log-group:" + names.log_group);

  ec2::LambdaMaking making;
  making.ledger = "l1";
  making.region = "us-east-1";
  std::vector<ec2::Call> calls = {ec2::CreateRole(making, ""),     ec2::PutRolePolicy(making, ""),
                                  ec2::CreateLogGroup(making),     ec2::PutRetention(making),
                                  ec2::GetFunction(making),        ec2::CreateFunction(making),
                                  ec2::UpdateCode(making),         ec2::UpdateConfiguration(making),
                                  ec2::LimitEvents(making),        ec2::ReserveOne(making),
                                  ec2::PutRule(making, 0),         ec2::AllowRule(making, 0, ""),
                                  ec2::PutTarget(making, 0, "arn")};
  for (const ec2::Call& call : ec2::Endings("l1", "us-east-1")) calls.push_back(call);
  for (const auto& [name, call] : ec2::Lookings("l1", "us-east-1")) calls.push_back(call);
  for (const ec2::Call& call : calls) {
    const std::set<std::string>& allowed = call.service == "iam"      ? role
                                           : call.service == "lambda" ? function
                                           : call.service == "events" ? rule
                                                                      : log;
    EXPECT_TRUE(allowed.contains(call.service + ":" + call.action)) << call.action;
  }
  // They carry tags, and the function its role.
  EXPECT_TRUE(role.contains("iam:TagRole") && role.contains("iam:PassRole"));
  EXPECT_TRUE(function.contains("lambda:TagResource") && log.contains("logs:TagResource"));
  EXPECT_TRUE(rule.contains("events:TagResource"));
  const std::set<std::string> on_all = {"logs:DescribeLogGroups"};
  EXPECT_EQ(AllowedOn(policy, "role/other"), on_all);
  EXPECT_EQ(AllowedOn(policy, "function:other"), on_all);

  // A ledger in a bucket of Google's has no function.
  auto other = AddEc2Rights(of_store, "gs://b", "us-east-1", "stoker");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->Find("installer.json"), nullptr);
}

TEST(LambdaPolicy, LimitsWhatIsLaunched) {
  Bound bound;
  bound.regions = {"us-east-1"};
  bound.types = {"m5.large"};
  const auto policy = ec2::LambdaPolicy(R"({"Version": "2012-10-17", "Statement": []})", bound,
                                        "l1", "aws", "arn:aws:iam::1:role/node", "/aws/lambda/f");
  ASSERT_TRUE(policy.ok());
  EXPECT_NE(policy->find(R"("ec2:InstanceType":["m5.large"])"), std::string::npos) << *policy;
  EXPECT_NE(policy->find(R"("aws:RequestedRegion":["us-east-1"])"), std::string::npos);
  EXPECT_NE(policy->find("arn:aws:iam::1:role/node"), std::string::npos);
  EXPECT_EQ(policy->find("CreateLogGroup"), std::string::npos);
  // Its sweep removes secrets of jobs that are over, of this ledger alone.
  EXPECT_NE(policy->find(R"(["ssm:GetParametersByPath","ssm:DeleteParameter"])"),
            std::string::npos);
  EXPECT_NE(policy->find(R"(:parameter/stoker/l1/*")"), std::string::npos);
  EXPECT_EQ(policy->find("ssm:GetParameter\""), std::string::npos);
  EXPECT_FALSE(ec2::LambdaPolicy("[]", bound, "l1", "aws", "", "").ok());
}

}  // namespace
}  // namespace stoker
