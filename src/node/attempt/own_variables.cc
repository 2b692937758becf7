// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/own_variables.h"

#include <optional>

#include "agent/secret_forms.h"
#include "base/text.h"
#include "provider/job_secrets.h"
#include "provider/local/local_private.h"
#include "spec/text/secrets.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

std::string Names(const contract::Environment& variables) {
  std::vector<std::string> names;
  for (const auto& [name, value] : variables) names.push_back(name);
  return Join(names, ", ");
}

std::string IntoCopy(const std::string& paths, const std::string& packed,
                     const std::string& workdir) {
  std::vector<std::string> out = Split(paths, ':');
  for (std::string& path : out) {
    if (path != packed && !StartsWith(path, packed + "/")) continue;
    const std::string copy = workdir + path.substr(packed.size());
    if (sys::FileExists(copy)) path = copy;  // else it was not packed, as a built library
  }
  return Join(out, ":");
}

std::optional<std::string> ValueIn(const contract::Environment& variables,
                                   const std::string& name) {
  for (const auto& [known, value] : variables) {
    if (known == name) return value;
  }
  return std::nullopt;
}

Status IsGone(const std::string& name, const OwnVariablesFrom& from) {
  return Status(Code::kInvalid,
                "the secret " + name + " is not on this machine: it lay in " + from.state_dir +
                    "/private, and is gone",
                "'stoker retry " + from.job.id + "' with " + name +
                    " in your environment goes on from the newest checkpoint");
}

}  // namespace

Result<OwnVariables> FindOwnVariables(const JobSpec& spec, const OwnVariablesFrom& from) {
  OwnVariables own;
  const auto left = ReadLocalPrivate(from.state_dir, from.ledger_id, from.job.id);
  if (!left.ok() && !left.status().Is(Code::kNotFound)) return left.status();
  if (left.ok()) {
    own.shell = left->shell;
    for (auto& [name, value] : own.shell) {
      const bool paths = name == "PYTHONPATH" || name == "LD_LIBRARY_PATH";
      if (paths && !left->workdir.empty()) value = IntoCopy(value, left->workdir, from.workdir);
      // A proxy with a password.
      if (!SecretInEnv(name, value).empty()) own.masked.push_back(value);
    }
  }
  for (const SecretSpec& secret : spec.secrets) {
    STOKER_ASSIGN(auto value, ReadJobSecret(secret, from.ledger_id, from.job, from.machine));
    if (!value && left.ok()) value = ValueIn(left->secrets, secret.name);
    if (!value) return IsGone(secret.name, from);
    own.masked.push_back(*value);
    own.secrets.emplace_back(secret.name, std::move(*value));
  }
  return own;
}

std::vector<std::string> TellOwnVariables(const OwnVariables& own) {
  std::vector<std::string> lines;
  if (!own.shell.empty()) lines.push_back(std::string(kShellLine) + Names(own.shell));
  if (own.secrets.empty()) return lines;
  std::string text = "stoker: secrets: " + Names(own.secrets);
  for (const auto& [name, value] : own.secrets) {
    if (value.size() < kLeastMasked) text += "; " + name + " is too short to be masked here";
  }
  lines.push_back(text);
  return lines;
}

}  // namespace stoker::node
