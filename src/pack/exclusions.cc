// SPDX-License-Identifier: Apache-2.0
#include "pack/exclusions.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace stoker::pack {
namespace {

constexpr std::string_view kQuietNames[] = {".git", ".hg", ".svn", "__pycache__"};
constexpr std::string_view kSecretNames[] = {
    // folders
    ".ssh", ".aws", ".gnupg", ".azure", ".kube",
    // private keys of ssh
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
    // passwords and tokens of other tools
    ".netrc", "_netrc", ".pgpass", ".git-credentials", ".pypirc", ".dockercfg", ".boto", ".s3cfg",
    ".htpasswd", ".vault-token", "application_default_credentials.json"};
constexpr std::string_view kSecretEndings[] = {".p12", ".pfx",  ".jks", ".keystore",
                                               ".ppk", ".kdbx", ".kdb"};
constexpr std::string_view kKeyEndings[] = {".pem", ".key"};
constexpr std::string_view kMadeAgain[] = {
    "node_modules", ".mypy_cache", ".pytest_cache",      ".ruff_cache", ".tox",
    ".nox",         ".cache",      ".ipynb_checkpoints", ".DS_Store"};

bool Among(std::string_view name, const auto& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool EndsAsAny(std::string_view name, const auto& endings) {
  return std::any_of(std::begin(endings), std::end(endings),
                     [&](std::string_view ending) { return EndsWith(name, ending); });
}

}  // namespace

Exclusion ExcludedName(std::string_view name) {
  if (Among(name, kQuietNames)) return Exclusion::kQuiet;
  if (StartsWith(name, ".env") || Among(name, kSecretNames) || EndsAsAny(name, kSecretEndings)) {
    return Exclusion::kSecret;
  }
  return Exclusion::kNone;
}

Exclusion ExcludedPath(std::string_view path) {
  while (true) {
    const size_t slash = path.find('/');
    const Exclusion found = ExcludedName(path.substr(0, slash));
    if (found != Exclusion::kNone || slash == std::string_view::npos) return found;
    path.remove_prefix(slash + 1);
  }
}

bool IsMadeAgain(std::string_view name) {
  return Among(name, kMadeAgain) || EndsWith(name, ".egg-info");
}

bool MayHoldPrivateKey(std::string_view name) { return EndsAsAny(name, kKeyEndings); }

}  // namespace stoker::pack
