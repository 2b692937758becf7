// SPDX-License-Identifier: Apache-2.0
#include "node/env/login/beside.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "sys/file.h"

namespace stoker::node {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr int64_t kMostNetrc = 1 << 20;
constexpr char kGitCount[] = "GIT_CONFIG_COUNT";

std::string ValueIn(const Variables& env, std::string_view name) {
  const auto found = std::find_if(env.rbegin(), env.rend(),
                                  [&](const auto& variable) { return variable.first == name; });
  return found == env.rend() ? "" : found->second;
}

void Set(const std::string& name, const std::string& value, Variables* env) {
  std::erase_if(*env, [&](const auto& variable) { return variable.first == name; });
  env->emplace_back(name, value);
}

}  // namespace

NetrcFile::~NetrcFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

Status NetrcFile::Write(const std::string& path, const Variables& env, const std::string& more) {
  std::string own = ValueIn(env, "NETRC");
  if (own.empty()) own = ValueIn(env, "HOME") + "/.netrc";
  const auto text = sys::ReadFile(own, kMostNetrc);
  path_ = path;
  return sys::WriteFileAtomic(path, (text.ok() ? *text + "\n" : "") + more, 0600, false);
}

VariableSource VariablesOf(const Variables& env) {
  return [&env](const std::string& name) -> std::optional<std::string> {
    std::string value = ValueIn(env, name);
    return value.empty() ? std::nullopt : std::optional(std::move(value));
  };
}

Status GiveBeside(const std::vector<AddressLogin>& logins, const std::string& path, Variables* env,
                  NetrcFile* netrc) {
  const std::string told = ValueIn(*env, kGitCount);
  int already = 0;
  std::from_chars(told.data(), told.data() + told.size(), already);
  for (const auto& [name, value] : GitLogins(logins, already)) Set(name, value, env);
  const std::string indexes = NetrcOf(logins);
  if (indexes.empty()) return Status::Ok();
  STOKER_TRY(netrc->Write(path, *env, indexes));
  Set("NETRC", path, env);
  return Status::Ok();
}

}  // namespace stoker::node
