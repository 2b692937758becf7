// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/api/ec2_simulate.h"

#include <algorithm>
#include <pugixml.hpp>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "provider/ec2/api/ec2_lists.h"

namespace stoker::ec2 {
namespace {

using Outcome = Simulated::Outcome;

Outcome OutcomeOf(const pugi::xml_node& told, const std::vector<std::string>& absent) {
  const std::string_view word = told.child_value("EvalDecision");
  if (word == "allowed") return Outcome::kAllowed;
  if (word == "explicitDeny") return Outcome::kDenied;
  if (word != "implicitDeny") return Outcome::kUnclear;
  // Where a condition could not be looked at, the simulator says no as well.
  const auto leaves_open = [&](const pugi::xml_node& at) {
    const auto missing = at.child("MissingContextValues").children("member");
    return std::any_of(missing.begin(), missing.end(), [&](const pugi::xml_node& key) {
      return std::find(absent.begin(), absent.end(), key.child_value()) == absent.end();
    });
  };
  bool open = leaves_open(told);
  // Of one resource they stand beside what is said of that.
  for (const pugi::xml_node each : told.child("ResourceSpecificResults").children("member")) {
    open = open || leaves_open(each);
  }
  return open ? Outcome::kUnclear : Outcome::kNoPolicy;
}

// A "no" that nothing can change says more than one that is open.
int Weight(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAllowed:
      return 0;
    case Outcome::kUnclear:
      return 1;
    case Outcome::kNoPolicy:
      return 2;
    case Outcome::kDenied:
      return 3;
  }
  return 1;
}

using nlohmann::json;

std::vector<std::string> Listed(const json& given) {
  std::vector<std::string> out;
  if (given.is_string()) return {given.get<std::string>()};
  for (const json& each : given.is_array() ? given : json::array()) {
    if (each.is_string()) out.push_back(each.get<std::string>());
  }
  return out;
}

std::string WithNames(const std::string& pattern) { return Join(Split(pattern, '*'), "trial"); }

// "arn:aws:ec2:*:*:instance/*" -> one that might be there. What is bound to no resource stays so.
std::string Named(const std::string& resource, const std::string& region,
                  const std::string& account) {
  if (resource == "*") return resource;
  std::vector<std::string> parts = Split(resource, ':');
  if (parts.size() > 3 && parts[3] == "*") parts[3] = region;
  if (parts.size() > 4 && parts[4] == "*") parts[4] = account;
  return WithNames(Join(parts, ":"));
}

// A value of the key with which the condition holds.
Result<std::string> Fitting(const std::string& test, const json& wanted) {
  const std::vector<std::string> values = Listed(wanted);
  const std::string first = values.empty() ? "" : values.front();
  if (test == "Null" && first == "false") return std::string("trial");
  if (test == "StringEquals" && !first.empty()) return first;
  if (test == "StringLike" && !first.empty()) return WithNames(first);
  return Status(Code::kInvalid, "no value is known for a condition of " + Printable(test));
}

}  // namespace

Result<std::vector<AskedRole>> AskedOf(const std::string& policy, const std::string& region,
                                       const std::string& account) {
  const json told = json::parse(policy, nullptr, false);
  const json statements = told.is_object() ? told.value("Statement", json()) : json();
  if (!statements.is_array()) return Status(Code::kInvalid, "not a policy of IAM");
  std::vector<AskedRole> out;
  for (const json& each : statements) {
    const json at = each.is_object() ? each : json::object();
    const std::vector<std::string> on = Listed(at.value("Resource", json()));
    AskedRole question{Listed(at.value("Action", json())), ""};
    if (on.empty() || question.actions.empty() || at.value("Effect", json()) != "Allow") {
      return Status(Code::kInvalid, "a statement of a policy of IAM that allows nothing");
    }
    question.resource = Named(on.front(), region, account);
    const json conditions = at.value("Condition", json::object());
    for (const auto& [test, keys] : conditions.items()) {
      for (const auto& [key, wanted] : keys.items()) {
        STOKER_ASSIGN(const std::string value, Fitting(test, wanted));
        question.context.emplace_back(key, value);
      }
    }
    out.push_back(std::move(question));
  }
  // What another statement asks of a request, this one's does not have.
  for (AskedRole& question : out) {
    for (const AskedRole& other : out) {
      for (const auto& [key, value] : other.context) {
        const auto same = [&key = key](const auto& own) { return own.first == key; };
        if (std::none_of(question.context.begin(), question.context.end(), same)) {
          question.absent.push_back(key);
        }
      }
    }
  }
  return out;
}

Outcome Worse(Outcome one, Outcome other) { return Weight(one) < Weight(other) ? other : one; }

Simulated ReadSimulation(const std::string& xml, const std::vector<std::string>& actions,
                         const std::vector<std::string>& absent) {
  pugi::xml_document document;
  (void)document.load_buffer(xml.data(), xml.size());
  const auto results = document.child("SimulatePrincipalPolicyResponse")
                           .child("SimulatePrincipalPolicyResult")
                           .child("EvaluationResults");
  std::map<std::string, Outcome> told;
  for (const pugi::xml_node each : results.children("member")) {
    told.emplace(each.child_value("EvalActionName"), OutcomeOf(each, absent));
  }
  Simulated out{Outcome::kAllowed, {}, {}};
  for (const std::string& action : actions) {
    const auto found = told.find(action);
    const Outcome outcome = found == told.end() ? Outcome::kUnclear : found->second;
    out.told[action] = outcome;
    if (outcome != Outcome::kAllowed) out.lacks.push_back(action);
    out.outcome = Worse(out.outcome, outcome);
  }
  return out;
}

Result<Simulated> Simulate(AwsApi& api, const std::string& region, const std::string& role,
                           const AskedRole& question) {
  Call call{"iam", region, "SimulatePrincipalPolicy", {{"PolicySourceArn", role}}};
  for (size_t i = 0; i < question.actions.size(); ++i) {
    call.params.emplace_back("ActionNames.member." + std::to_string(i + 1), question.actions[i]);
  }
  call.params.emplace_back("ResourceArns.member.1", question.resource);
  for (size_t i = 0; i < question.context.size(); ++i) {
    const std::string entry = "ContextEntries.member." + std::to_string(i + 1);
    call.params.emplace_back(entry + ".ContextKeyName", question.context[i].first);
    call.params.emplace_back(entry + ".ContextKeyType", "string");
    call.params.emplace_back(entry + ".ContextKeyValues.member.1", question.context[i].second);
  }
  call.good_for = kHour;
  call.keep_denial = true;
  STOKER_ASSIGN(const std::string body, api.Read(call));
  if (body.empty()) return Status(Code::kDenied, "an hour ago nobody here might simulate");
  return ReadSimulation(body, question.actions, question.absent);
}

}  // namespace stoker::ec2
