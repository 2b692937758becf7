// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/api/ec2_simulate.h"

#include <algorithm>
#include <map>
#include <pugixml.hpp>
#include <string_view>

#include "provider/ec2/api/ec2_lists.h"

namespace stoker::ec2 {
namespace {

using Outcome = Simulated::Outcome;

Outcome OutcomeOf(const pugi::xml_node& told) {
  const std::string_view word = told.child_value("EvalDecision");
  if (word == "allowed") return Outcome::kAllowed;
  if (word == "explicitDeny") return Outcome::kDenied;
  // Where a condition could not be looked at, the simulator says no as well.
  if (word != "implicitDeny" || told.child("MissingContextValues").first_child()) {
    return Outcome::kUnclear;
  }
  return Outcome::kNoPolicy;
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

}  // namespace

Simulated ReadSimulation(const std::string& xml, const std::vector<std::string>& actions) {
  pugi::xml_document document;
  (void)document.load_buffer(xml.data(), xml.size());
  const auto results = document.child("SimulatePrincipalPolicyResponse")
                           .child("SimulatePrincipalPolicyResult")
                           .child("EvaluationResults");
  std::map<std::string, Outcome> told;
  for (const pugi::xml_node each : results.children("member")) {
    told.emplace(each.child_value("EvalActionName"), OutcomeOf(each));
  }
  Simulated out{Outcome::kAllowed, {}};
  for (const std::string& action : actions) {
    const auto found = told.find(action);
    const Outcome outcome = found == told.end() ? Outcome::kUnclear : found->second;
    if (outcome != Outcome::kAllowed) out.lacks.push_back(action);
    if (Weight(outcome) > Weight(out.outcome)) out.outcome = outcome;
  }
  return out;
}

Result<Simulated> Simulate(AwsApi& api, const std::string& region, const std::string& role,
                           const std::vector<std::string>& actions, const std::string& resource) {
  Call call{"iam", region, "SimulatePrincipalPolicy", {{"PolicySourceArn", role}}};
  for (size_t i = 0; i < actions.size(); ++i) {
    call.params.emplace_back("ActionNames.member." + std::to_string(i + 1), actions[i]);
  }
  call.params.emplace_back("ResourceArns.member.1", resource);
  call.good_for = kHour;
  call.keep_denial = true;
  STOKER_ASSIGN(const std::string body, api.Read(call));
  if (body.empty()) return Status(Code::kDenied, "an hour ago nobody here might simulate");
  return ReadSimulation(body, actions);
}

}  // namespace stoker::ec2
