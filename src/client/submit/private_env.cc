// SPDX-License-Identifier: Apache-2.0
#include "client/submit/private_env.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>

#include "base/text.h"
#include "client/submit/offers.h"
#include "client/submit/variables.h"
#include "ledger/records.h"
#include "node/env/requirement_files.h"
#include "spec/choices.h"
#include "spec/text/env_text.h"
#include "spec/text/secrets.h"
#include "spec/text/shell_env.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr int64_t kMaxPrivateBytes = 1 << 20;
constexpr size_t kShownValue = 24;

using Values = std::map<std::string, std::string>;

// ~/.config/stoker/secrets.env; empty when there is none.
Result<Values> OwnSecrets(const Client& client) {
  const std::string& settings = client.places().config_file;
  const std::string path = settings.substr(0, settings.rfind('/')) + "/secrets.env";
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return Values();
  if ((st.st_mode & 077) != 0) {
    return Status(Code::kInvalid, path + ": others may read it", "chmod 600 " + path);
  }
  STOKER_ASSIGN(const std::string text, sys::ReadFile(path, kMaxPrivateBytes));
  const EnvText read = ParseEnvText(text, EnvStyle::kDotenv);
  if (!read.mistakes.empty()) return Status(Code::kInvalid, path + ": " + read.mistakes[0]);
  Values values;
  for (const EnvLine& line : read.lines) {
    if (line.value) values[line.name] = *line.value;
  }
  return values;
}

std::optional<std::string> Find(const std::string& name, const Values& given, const Values& own) {
  if (const auto found = given.find(name); found != given.end()) return found->second;
  if (const char* value = std::getenv(name.c_str())) return value;
  if (const auto found = own.find(name); found != own.end()) return found->second;
  return std::nullopt;
}

Status FindSecrets(Client& client, const PrivateRequest& request, LocalPrivate* out) {
  const std::vector<std::string> names = OwnSecretNames(request.spec);
  if (names.empty()) return Status::Ok();
  STOKER_ASSIGN(const Values own, OwnSecrets(client));
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    const auto value = Find(name, request.secret_values, own);
    if (value && !value->empty() && value->find('\0') == std::string::npos) {
      out->secrets.emplace_back(name, *value);
    } else {
      missing.push_back(name);
    }
  }
  if (missing.empty()) return Status::Ok();
  return Status(Code::kInvalid,
                "no value for the secret" + std::string(missing.size() > 1 ? "s " : " ") +
                    Join(missing, ", "),
                "Export " + missing[0] + " first, give --secret " + missing[0] +
                    "=@FILE, or write it into " +
                    client.places().config_file.substr(0, client.places().config_file.rfind('/')) +
                    "/secrets.env (chmod 600)");
}

// A store that holds the state folder would hold all this too.
Status CheckOutsideStore(Client& client, const LocalPrivate& own) {
  if (own.secrets.empty() && own.shell.empty()) return Status::Ok();
  const bool secrets = !own.secrets.empty();
  STOKER_ASSIGN(ObjectStore * store, client.store());
  const auto root = sys::RealPath(store->url());
  const auto state = sys::RealPath(client.places().state);
  if (!root.ok() || !state.ok() || !StartsWith(*state + "/", *root + "/")) return Status::Ok();
  return Status(Code::kInvalid,
                "the store " + *root + " holds this machine's own folder " + *state +
                    ", in which " + (secrets ? "secrets" : "variables of your shell") +
                    " would lie",
                std::string("Choose another folder: stoker config set store PATH") +
                    (secrets ? "" : "; or take none of them along: --no-shell-env"));
}

// "NAME=value" where that is short and harmless, else the name.
std::string Shown(const std::string& name, const std::string& value) {
  const bool plain = value.size() <= kShownValue && SecretInEnv(name, value).empty();
  return plain ? name + "=" + Printable(value) : name;
}

// What a shell keeps for itself, what stoker sets, and what would make a program take itself for a
// part of another launcher's job.
bool IsNotHanded(std::string_view name) {
  constexpr std::string_view kNotHanded[] = {"PWD",
                                             "OLDPWD",
                                             "SHLVL",
                                             "_",
                                             "STOKER_*",
                                             "RANK",
                                             "LOCAL_RANK",
                                             "WORLD_SIZE",
                                             "SLURM_*",
                                             "SRUN_*",
                                             "LOCAL_WORLD_SIZE",
                                             "OMPI_*",
                                             "TORCHELASTIC_*",
                                             "PMI_*",
                                             "PMIX_*",
                                             "SBATCH_*"};
  return std::any_of(std::begin(kNotHanded), std::end(kNotHanded),
                     [&](std::string_view pattern) { return MatchesName(pattern, name); });
}

// What leads to the network of this machine, which its containers have too.
bool IsProxy(std::string_view name) {
  constexpr std::string_view kNames[] = {"http_proxy", "https_proxy", "all_proxy", "no_proxy",
                                         "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Status TakeShell(Client& client, const PrivateRequest& request, LocalPrivate* out) {
  STOKER_ASSIGN(const Settings* settings, client.settings());
  STOKER_ASSIGN(const ShellChoice choice, ReadShellChoice(settings->shell_env));
  std::set<std::string> given;
  for (const SecretSpec& one : request.spec.secrets) given.insert(one.name);
  for (const auto& [name, value] : request.spec.envs) given.insert(name);
  const bool whole = request.spec.whole_shell;
  const bool boxed = !request.spec.container.image.empty();
  for (const std::string& name : NamesInEnvironment()) {
    if (boxed && !IsProxy(name)) continue;  // all else is of another system
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || given.count(name) > 0) continue;
    if (whole ? !IsNotHanded(name) : choice.Takes(name)) out->shell.emplace_back(name, value);
  }
  return Status::Ok();
}

// "stay on this machine and on the boxes that run the job", "lie in the vault of EC2 (ssm)".
std::string WhereTheyLie(const JobSpec& spec) {
  std::vector<std::string> vaults;
  std::string also;
  bool here = false;
  for (const JobSpec& one : ChoicesOf(spec)) {
    const BrokerTraits& traits = TraitsOfChoice(one);
    here = here || traits.vaults.empty();
    if (*traits.secrets_also_on != '\0') also = std::string(" and on ") + traits.secrets_also_on;
    if (traits.vaults.empty()) continue;
    std::string text = std::string(traits.title) + " (" + std::string(OwnVault(traits)) + ")";
    if (std::find(vaults.begin(), vaults.end(), text) == vaults.end()) vaults.push_back(text);
  }
  const std::string stay = here ? "stay on this machine" + also : "";
  if (vaults.empty()) return stay;
  return stay + (here ? ", and " : "") + "lie in the vault of " + Join(vaults, " and of ");
}

}  // namespace

Result<LocalPrivate> GatherPrivate(Client& client, const PrivateRequest& request) {
  LocalPrivate out;
  STOKER_TRY(FindSecrets(client, request, &out));
  if (request.shell) STOKER_TRY(TakeShell(client, request, &out));
  STOKER_TRY(CheckOutsideStore(client, out));
  if (!out.secrets.empty()) {
    client.Say("secrets " + Join(OwnSecretNames(request.spec), ", ") + ": they " +
               WhereTheyLie(request.spec) + ", until the job ends, and are masked in its log");
  }
  if (!out.shell.empty()) out.workdir = request.workdir;
  return out;
}

Status CheckWholeShell(const JobSpec& spec) {
  if (!spec.whole_shell || !AnyChoiceHas(spec, &BrokerTraits::elsewhere)) return Status::Ok();
  return Status(
      Code::kInvalid,
      "--shell-env all is for this machine and Slurm: the job may run on others, and what "
      "your shell holds stays here",
      "Name what it needs: --env NAME, --env 'PATTERN*', --secret NAME");
}

void SayShell(Client& client, const JobSpec& spec, const LocalPrivate& own) {
  if (own.shell.empty()) return;
  if (spec.whole_shell) {
    client.Say("all of your shell, " + std::to_string(own.shell.size()) +
               " variables, in no record; 'stoker show' names them");
    return;
  }
  std::vector<std::string> shown;
  for (const auto& [name, value] : own.shell) shown.push_back(Shown(name, value));
  client.Say("from your shell: " + Join(shown, ", ") + " (--no-shell-env leaves them behind)");
}

Status CheckRequirements(const std::string& workdir) {
  for (const node::RequirementFile& file : node::ReadRequirementFiles(workdir)) {
    int number = 0;
    for (const std::string& line : Split(file.text, '\n')) {
      ++number;
      const std::string secret = SecretInText(line);
      if (secret.empty()) continue;
      return Status(Code::kInvalid,
                    file.name + ":" + std::to_string(number) + ": holds what looks like " + secret,
                    "The work directory is kept in the ledger. Write ${PIP_PASSWORD} in its place, "
                    "which pip replaces, and give the value with --secret PIP_PASSWORD");
    }
  }
  return Status::Ok();
}

}  // namespace stoker::client
