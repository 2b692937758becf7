// SPDX-License-Identifier: Apache-2.0
#include "node/ran/told_variables.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "spec/text/secrets.h"
#include "spec/text/shell_env.h"

namespace stoker::node {
namespace {

bool Has(const contract::Environment& variables, const std::string& name) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const auto& variable) { return variable.first == name; });
}

// All that stoker sets whatever the job is.
const std::set<std::string>& AlwaysSet() {
  static const std::set<std::string> names = [] {
    std::set<std::string> out = {"VIRTUAL_ENV"};
    for (const auto& [name, value] : contract::ProgramEnvironment({}, {})) out.insert(name);
    return out;
  }();
  return names;
}

std::string SetBy(const std::string& name, const std::string& value, const VariableOrigins& from) {
  if (Has(from.secrets, name)) return "secret";
  if (Has(from.from_setup, name)) return "setup";
  if (Has(from.spec.envs, name)) return "job";
  const bool as_there =
      std::find(from.shell.begin(), from.shell.end(), std::pair(name, value)) != from.shell.end();
  return as_there ? "shell" : "stoker";
}

bool OnTheList(const std::string& name) {
  static const ShellChoice list{DefaultShellNames(), {}};
  return list.Takes(name);
}

bool HoldsSecret(const std::string& name, const std::string& value, const VariableOrigins& from) {
  if (!SecretInEnv(name, value).empty() || from.masked(value) != value) return true;
  // Too short for the log's mask.
  return std::any_of(from.secrets.begin(), from.secrets.end(), [&](const auto& secret) {
    return !secret.second.empty() && secret.second == value;
  });
}

}  // namespace

std::vector<ToldVariable> TellVariables(const contract::Environment& env,
                                        const VariableOrigins& from) {
  std::vector<ToldVariable> told;
  for (const auto& [name, value] : env) {
    ToldVariable one;
    one.name = name;
    one.by = SetBy(name, value, from);
    const bool may =
        one.by == "job" ||
        (one.by == "stoker" && (StartsWith(name, "STOKER_") || AlwaysSet().contains(name))) ||
        OnTheList(name);
    one.hidden = one.by == "secret" || (may && HoldsSecret(name, value, from));
    if (may && !one.hidden) one.value = CutText(value, kMostToldBytes);
    told.push_back(std::move(one));
  }
  std::sort(told.begin(), told.end(),
            [](const auto& one, const auto& other) { return one.name < other.name; });
  return told;
}

}  // namespace stoker::node
