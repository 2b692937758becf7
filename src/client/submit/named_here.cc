// SPDX-License-Identifier: Apache-2.0
#include "client/submit/named_here.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "base/utf8.h"
#include "client/submit/variables.h"
#include "spec/text/env_text.h"
#include "spec/text/git/repository.h"
#include "spec/text/named_variables.h"
#include "spec/text/secrets.h"
#include "spec/text/shell_env.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr size_t kMostTaken = 200;
constexpr size_t kLongestTaken = 4096;  // of a value
constexpr size_t kShownOfValue = 60;

}  // namespace

std::string ShownValue(const std::string& value) {
  const std::string text = Printable(value);
  return text.size() <= kShownOfValue ? text : CutText(text, kShownOfValue) + "…";
}

Result<NamedHere> NamedHere::Of(Client& client, const JobSpec& spec) {
  if (spec.whole_shell) return NamedHere();  // all go along, and none into the record
  STOKER_ASSIGN(const Settings* settings, client.settings());
  STOKER_ASSIGN(const ShellChoice choice, ReadShellChoice(settings->shell_env));
  std::set<std::string> given;
  for (const SecretSpec& one : spec.secrets) given.insert(one.name);
  for (const auto& [name, value] : spec.envs) given.insert(name);
  const auto left = [&](const std::string& name) {
    return std::any_of(choice.leave.begin(), choice.leave.end(),
                       [&](const std::string& pattern) { return MatchesName(pattern, name); });
  };
  NamedHere out;
  for (const std::string& name : NamesInEnvironment()) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || !IsEnvName(name) || given.count(name) > 0) continue;
    if (!BelongsToPlace(name) && !left(name)) out.here_.emplace(name, value);
  }
  return out;
}

void NamedHere::Read(std::string_view text) {
  if (here_.empty()) return;
  ForEachNamedVariable(text, [this](std::string_view name) {
    const auto found = here_.find(name);
    if (found != here_.end() && named_.size() < kMostTaken) named_.insert(found->first);
  });
}

void NamedHere::Read(const JobSpec& spec) {
  Read(spec.setup);
  Read(spec.run);
  for (const std::string& word : spec.argv) Read(word);
}

void NamedHere::GiveTo(Client& client, JobSpec* spec,
                       std::vector<std::pair<std::string, std::string>>* shell) const {
  std::vector<std::string> given;
  std::vector<std::string> odd;
  std::vector<std::string> secret;
  std::vector<std::string> inside;
  const std::string workdir = RepositoryOf(spec->workdir) || spec->workdir.empty()
                                  ? ""
                                  : sys::RealPath(spec->workdir).value_or("");
  for (const std::string& name : named_) {
    const std::string& value = here_.at(name);
    if (MayBeSecret(name, value)) {
      secret.push_back(name);
    } else if (!IsUtf8(value) || value.size() > kLongestTaken) {
      odd.push_back(name);
    } else {
      std::erase_if(*shell, [&](const auto& variable) { return variable.first == name; });
      spec->envs.emplace_back(name, value);
      given.push_back(name + "=" + ShownValue(value));
      if (!workdir.empty() && (value == workdir || StartsWith(value, workdir + "/"))) {
        inside.push_back(name);
      }
    }
  }
  if (!given.empty()) {
    client.Say("from your shell, because the job names them: " + Join(given, ", ") +
               " (kept in its record; --no-shell-env leaves them behind)");
  }
  if (!inside.empty()) {
    client.Say("note: " + Join(inside, ", ") + (inside.size() == 1 ? " lies" : " lie") +
               " in the folder that is packed: the program then reads and writes there, not in "
               "its own copy, and nothing of that is kept. A path relative to it works");
  }
  if (!odd.empty()) {
    client.Say("left in your shell: " + Join(odd, ", ") +
               ": the job names them, but they are longer than 4 kB or no text");
  }
  if (secret.empty()) return;
  client.Say("left in your shell: " + Join(secret, ", ") +
             ": the job names them, but they may be secrets. To pass them: --secret " +
             Join(secret, " --secret "));
}

}  // namespace stoker::client
