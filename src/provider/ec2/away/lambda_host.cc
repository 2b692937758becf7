// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/away/lambda_host.h"

#include <algorithm>
#include <chrono>
#include <pugixml.hpp>
#include <thread>
#include <utility>

#include "aws/account/account.h"
#include "aws/config.h"
#include "base/json.h"
#include "base/text.h"
#include "controller/away/bound.h"
#include "provider/cloud/away/away_run.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/away/lambda_parts.h"
#include "provider/ec2/away/lambda_policy.h"
#include "provider/ec2/away/lambda_taking.h"
#include "provider/ec2/away/one_file_zip.h"
#include "provider/ec2/ec2_prices.h"
#include "provider/ec2/ec2_resolve.h"
#include "spec/places/ec2/section.h"
#include "store/rights.h"
#include "sys/file.h"

namespace stoker {
namespace {

using ec2::AwsApi;
using ec2::Call;
using ec2::LambdaMaking;
using ec2::LambdaNames;
using Json = nlohmann::json;

constexpr int64_t kMostBinary = int64_t{1} << 30;
constexpr size_t kMostZip = 50'000'000;  // of code that comes with the call: "Lambda quotas"
// A new role is not known to Lambda at once; a function that is being changed takes no order.
constexpr int kSettleTries = 40;
constexpr auto kSettlePause = std::chrono::seconds(3);

bool IsThere(const std::string& code) {
  return code == "EntityAlreadyExists" || code == "ResourceAlreadyExistsException";
}

// Lambda says so with the code that it also has for what is being changed just now.
bool SaysThatItIsThere(const Status& status) {
  return status.message().find("exist") != std::string::npos;
}

class LambdaHost : public AwayHost {
 public:
  LambdaHost(std::shared_ptr<AwsApi> api, AwsAccount account, std::string profile)
      : api_(std::move(api)), account_(std::move(account)), profile_(std::move(profile)) {}

  Result<AwayPlan> Plan(const AwayWish& wish) override {
    AwayPlan plan;
    plan.wish = wish;
    const std::string store = wish.store->url();
    if (!StartsWith(store, "s3://")) {
      return Status(
          Code::kInvalid,
          "a function of Lambda looks after jobs of a ledger in S3, and this one is in " + store,
          "'stoker controller --install' without a name installs a timer here");
    }
    std::string& where = plan.wish.where;
    const std::string home = RegionOfRights(store);
    if (where.empty()) where = home;
    if (where != home) {
      return Status(Code::kInvalid, "the function runs in the region of the bucket, " + home +
                                        ", and not in " + Printable(where));
    }
    STOKER_TRY(Complete(&plan.wish.bound, where));
    STOKER_TRY(CheckBound(plan.wish.bound));
    STOKER_ASSIGN(Rights rights, RightsFor(store, where));
    const std::string* node = rights.Find(kNodeFile);
    if (node == nullptr) {
      return Status(Code::kInvalid, "the function's role reads a bucket of S3, and not " + store);
    }
    STOKER_ASSIGN(const std::string role, RoleOf(where, plan.wish.bound.identity));
    const LambdaNames names(wish.ledger);
    STOKER_ASSIGN(plan.policy, ec2::LambdaPolicy(*node, plan.wish.bound, wish.ledger,
                                                 AwsPartition(where), role, names.log_group));
    plan.makes = {
        "the role " + names.role + ", which may do what is in its policy stoker-away, no more",
        "the log group " + names.log_group + ", of which lines are kept for " +
            std::to_string(ec2::kLambdaLogDays) + " days",
        "the function " + names.function + " in " + where + ": this stoker, with " +
            std::to_string(ec2::kLambdaMegabytes) + " MB and " +
            std::to_string(ec2::kLambdaSeconds) + " s for a call",
        "the rule " + names.rules[0] + ", which calls it each " +
            std::to_string(ec2::kLambdaEveryMinutes) + " minutes",
        "the rule " + names.rules[1] + ", which calls it when an instance in " + where +
            " has a spot warning, a rebalance advice or another state"};
    plan.costs = ec2::LambdaMonth();
    return plan;
  }

  Result<std::vector<std::string>> Install(const AwayPlan& plan) override {
    std::vector<std::string> done;
    STOKER_ASSIGN(LambdaMaking making, Making(plan));
    STOKER_TRY(CheckStore(making));
    STOKER_TRY(Do(ec2::CreateRole(making, ec2::LambdaTrust()), IsThere));
    STOKER_TRY(Do(ec2::PutRolePolicy(making, plan.policy)));
    STOKER_ASSIGN(making.role_arn, RoleArn(making.region, LambdaNames(making.ledger).role));
    STOKER_TRY(Do(ec2::CreateLogGroup(making), IsThere));
    STOKER_TRY(Do(ec2::PutRetention(making)));
    STOKER_ASSIGN(const std::string function, Function(making, &done));
    STOKER_TRY(Settled(ec2::LimitEvents(making)).status());
    // An account of which little may run at once gives none away: a turn in the ledger holds, too.
    const auto reserved = Settled(ec2::ReserveOne(making));
    if (!reserved.ok()) {
      done.push_back("none of the account's concurrency is set aside for it (" +
                     reserved.status().message() + "): runs take turns by the ledger alone");
    }
    for (size_t rule = 0; rule < LambdaNames(making.ledger).rules.size(); ++rule) {
      STOKER_TRY(Rule(making, rule, function));
    }
    return done;
  }

  AwayTaken Uninstall(const std::string& ledger, const AwayWhere& where) override {
    return ec2::TakeAway(*api_, ledger, where);
  }

 private:
  // What was left open, and what cannot be.
  Status Complete(Bound* bound, const std::string& where) {
    if (bound->regions.empty()) bound->regions = {where};
    if (bound->identity.empty()) bound->identity = profile_;
    if (bound->price > 0) return Status::Ok();
    for (const std::string& region : bound->regions) {
      for (const std::string& type : bound->types) {
        const auto price = Ec2ListPrice(region, type);
        if (!price && !bound->unknown_prices) {
          return Status(Code::kInvalid,
                        "no price of " + Printable(type) + " in " + Printable(region) +
                            " is known here (of " + std::string(Ec2PriceDay()) + ")",
                        "Say what a machine may cost an hour (--price) and that one of which "
                        "nothing is known may be asked for (--unknown-prices)");
        }
        bound->price = std::max(bound->price, price.value_or(0));
      }
    }
    if (bound->price > 0) return Status::Ok();
    return Status(Code::kInvalid, "nothing is known of what machines of these types cost",
                  "Say what one may cost an hour: --price");
  }

  Result<LambdaMaking> Making(const AwayPlan& plan) {
    LambdaMaking making;
    making.ledger = plan.wish.ledger;
    making.region = plan.wish.where;
    for (const auto& [name, value] :
         cloud::AwayVariables(plan.wish.store->url(), plan.wish.ledger, plan.wish.bound)) {
      making.variables[name] = value;
    }
    // Services that stand in for Amazon's, as machines get them.
    for (const char* service : {"s3", "ec2"}) {
      STOKER_ASSIGN(const std::string url,
                    AwsEndpointUrl(account_.outside, account_.config, service));
      const std::string name = std::string(service) == "s3" ? "S3" : "EC2";
      if (!url.empty()) making.variables["AWS_ENDPOINT_URL_" + name] = url;
    }
    STOKER_ASSIGN(const std::string binary, sys::ReadFile(plan.wish.binary, kMostBinary));
    making.zip = ec2::OneFileZip("bootstrap", binary);
    if (making.zip.empty() || making.zip.size() > kMostZip) {
      return Status(Code::kNoSpace, plan.wish.binary + " is too large for a function of Lambda: " +
                                        HumanSize(static_cast<int64_t>(binary.size())));
    }
    return making;
  }

  // Ok also where it is refused with a code that `ok` takes.
  Status Do(const Call& call, bool (*ok)(const std::string& code) = nullptr) {
    const auto reply = api_->Repeat(call);
    STOKER_TRY(reply.status());
    if (!reply->failure || (ok != nullptr && ok(reply->failure->code))) return Status::Ok();
    return ec2::StatusOf(ec2::Described(call), *reply->failure);
  }

  // Again while something that was just made or changed is not ready for it.
  Result<std::string> Settled(const Call& call) {
    for (int time = 1;; ++time) {
      auto reply = api_->Repeat(call);
      STOKER_TRY(reply.status());
      if (!reply->failure) return std::move(reply->body);
      const ec2::Failure& failure = *reply->failure;
      const bool young = failure.code == "InvalidParameterValueException" &&
                         failure.message.find("cannot be assumed") != std::string::npos;
      const bool busy = failure.code == "ResourceConflictException" &&
                        failure.message.find("exist") == std::string::npos;
      if ((!young && !busy) || time >= kSettleTries)
        return ec2::StatusOf(ec2::Described(call), failure);
      std::this_thread::sleep_for(kSettlePause);
    }
  }

  Status CheckStore(const LambdaMaking& making) {
    const auto known = api_->Repeat(ec2::GetFunction(making));
    STOKER_TRY(known.status());
    const Json told = Json::parse(known->failure ? "" : known->body, nullptr, false);
    if (!told.is_object()) return Status::Ok();  // there is none, or what follows says why not
    const Json::json_pointer store(std::string("/Configuration/Environment/Variables/") +
                                   cloud::kAwayStoreVariable);
    return cloud::CheckAwayStore(told.value(store, ""),
                                 making.variables.at(cloud::kAwayStoreVariable));
  }

  // Its ARN.
  Result<std::string> Function(const LambdaMaking& making, std::vector<std::string>* done) {
    const auto known = api_->Repeat(ec2::GetFunction(making));
    STOKER_TRY(known.status());
    if (known->failure && !ec2::IsGone(known->failure->code)) {
      return ec2::StatusOf("GetFunction", *known->failure);
    }
    if (known->failure) {
      const auto made = Settled(ec2::CreateFunction(making));
      if (made.ok()) {
        done->push_back("made the function " + LambdaNames(making.ledger).function);
        return ArnIn(*made);
      }
      // Another one was quicker.
      if (!SaysThatItIsThere(made.status())) return made.status();
    }
    STOKER_ASSIGN(const std::string there, Settled(ec2::GetFunction(making)));
    const Json told = Json::parse(there, nullptr, false);
    const std::string digest =
        told.is_object() ? told.value(Json::json_pointer("/Configuration/CodeSha256"), "") : "";
    if (digest != ec2::CodeDigest(making.zip)) {
      STOKER_TRY(Settled(ec2::UpdateCode(making)).status());
      done->push_back("gave the function this stoker in place of another");
    }
    STOKER_ASSIGN(const std::string changed, Settled(ec2::UpdateConfiguration(making)));
    done->push_back("brought the function " + LambdaNames(making.ledger).function + " up to date");
    return ArnIn(changed);
  }

  Status Rule(const LambdaMaking& making, size_t rule, const std::string& function) {
    STOKER_ASSIGN(const std::string put, Settled(ec2::PutRule(making, rule)));
    const Json told = Json::parse(put, nullptr, false);
    const std::string arn = told.is_object() ? told.value("RuleArn", "") : "";
    const Status allowed = Settled(ec2::AllowRule(making, rule, arn)).status();
    if (!allowed.ok() && !SaysThatItIsThere(allowed)) return allowed;
    STOKER_ASSIGN(const std::string aimed, Settled(ec2::PutTarget(making, rule, function)));
    const Json failed = Json::parse(aimed, nullptr, false);
    if (!failed.is_object() || failed.value("FailedEntryCount", 0) == 0) return Status::Ok();
    return Status(Code::kUnavailable, "PutTargets: the rule does not call the function: " +
                                          Printable(CutText(aimed, 300)));
  }

  static Result<std::string> ArnIn(const std::string& body) {
    const Json told = Json::parse(body, nullptr, false);
    const std::string arn = told.is_object() ? told.value("FunctionArn", "") : "";
    if (!arn.empty()) return arn;
    return Status(Code::kCorrupt, "Lambda does not say what the function is called");
  }

  Result<std::string> RoleArn(const std::string& region, const std::string& role) {
    STOKER_ASSIGN(const std::string body,
                  api_->Read({"iam", region, "GetRole", {{"RoleName", role}}}));
    pugi::xml_document document;
    (void)document.load_buffer(body.data(), body.size());
    return std::string(
        document.child("GetRoleResponse").child("GetRoleResult").child("Role").child_value("Arn"));
  }

  // Of the instance profile.
  Result<std::string> RoleOf(const std::string& region, const std::string& profile) {
    STOKER_ASSIGN(
        const std::string body,
        api_->Read({"iam", region, "GetInstanceProfile", {{"InstanceProfileName", profile}}}));
    pugi::xml_document document;
    (void)document.load_buffer(body.data(), body.size());
    const std::string arn = document.child("GetInstanceProfileResponse")
                                .child("GetInstanceProfileResult")
                                .child("InstanceProfile")
                                .child("Roles")
                                .child("member")
                                .child_value("Arn");
    if (!arn.empty()) return arn;
    return Status(Code::kInvalid, "the instance profile " + Printable(profile) + " has no role",
                  "docs/aws.md has the commands that make one");
  }

  const std::shared_ptr<AwsApi> api_;
  const AwsAccount account_;
  const std::string profile_;
};

}  // namespace

Result<std::unique_ptr<AwayHost>> MakeLambdaHost(const ProviderOptions& options) {
  STOKER_ASSIGN(auto api, MakeAwsApi());
  STOKER_ASSIGN(AwsAccount account, FindAwsAccount());
  const std::string& given = options.settings.Of(kAwsProfile);
  std::unique_ptr<AwayHost> host = std::make_unique<LambdaHost>(
      std::move(api), std::move(account), given.empty() ? kUsualProfile : given);
  return host;
}

}  // namespace stoker
