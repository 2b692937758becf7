// SPDX-License-Identifier: Apache-2.0
#include "client/submit/variables.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "spec/text/env_text.h"
#include "spec/text/secret_reference.h"
#include "spec/text/secrets.h"
#include "sys/file.h"

extern char** environ;

namespace stoker::client {
namespace {

constexpr int64_t kMaxFileBytes = 1 << 20;

void Add(const std::string& name, const std::string& value, GivenVariables& given) {
  if (SecretInEnv(name, value).empty()) {
    given.envs.push_back(name + "=" + value);
    return;
  }
  given.secrets.push_back(name);
  given.secret_values[name] = value;
}

Status AddFile(const std::string& path, GivenVariables& given) {
  const auto text = sys::ReadFile(path, kMaxFileBytes);
  if (!text.ok()) return Status(Code::kUsage, "--env-file " + text.status().message());
  const EnvText read = ParseEnvText(*text, EnvStyle::kDotenv);
  if (!read.mistakes.empty()) {
    return Status(Code::kUsage, "--env-file " + Printable(path) + ": " + read.mistakes[0],
                  "Write lines of NAME=VALUE");
  }
  for (const EnvLine& line : read.lines) {
    const char* own = std::getenv(line.name.c_str());
    if (!line.value && own == nullptr) {
      return Status(Code::kUsage,
                    "--env-file " + Printable(path) + ": line " + std::to_string(line.line) + ": " +
                        line.name + " has no value, here or in your environment",
                    "Write " + line.name + "=VALUE");
    }
    Add(line.name, line.value ? *line.value : own, given);
  }
  return Status::Ok();
}

Status AddPattern(const std::string& pattern, GivenVariables& given) {
  bool any = false;
  for (const std::string& name : NamesInEnvironment()) {
    if (!IsEnvName(name) || StartsWith(name, "STOKER_") || !MatchesName(pattern, name)) continue;
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) continue;
    any = true;
    Add(name, value, given);
  }
  if (any) return Status::Ok();
  return Status(Code::kUsage, "--env '" + Printable(pattern) + "' matches no variable here",
                "Export one first, or write NAME=VALUE");
}

Status AddSecret(const std::string& text, GivenVariables& given) {
  const size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  if (sign != std::string::npos && LooksLikeReference(text.substr(sign + 1))) {
    given.secrets.push_back(text);
    return Status::Ok();
  }
  given.secrets.push_back(name);
  if (sign == std::string::npos) return Status::Ok();
  if (text.compare(sign, 2, "=@") != 0) {
    return Status(Code::kUsage, "--secret " + Printable(name) + " comes with its value",
                  "Others would see it in the list of processes. Export it and write --secret " +
                      Printable(name) + ", or --secret " + Printable(name) +
                      "=@FILE; or name where it lies already: " + kReferenceForms);
  }
  const auto read = sys::ReadFile(text.substr(sign + 2), kMaxFileBytes);
  if (!read.ok()) {
    return Status(Code::kUsage, "--secret " + Printable(name) + ": " + read.status().message());
  }
  // A file that an editor or echo has written ends with a line break, which is not the secret's.
  std::string value = *read;
  while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.pop_back();
  given.secret_values[name] = value;
  return Status::Ok();
}

}  // namespace

std::vector<std::string> NamesInEnvironment() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<GivenVariables> ReadVariables(const VariableFlags& flags) {
  GivenVariables given;
  for (const std::string& path : flags.env_files) STOKER_TRY(AddFile(path, given));
  for (const std::string& text : flags.envs) {
    if (text.find('=') == std::string::npos && IsNamePattern(text)) {
      STOKER_TRY(AddPattern(text, given));
    } else {
      given.envs.push_back(text);
    }
  }
  for (const std::string& text : flags.secrets) STOKER_TRY(AddSecret(text, given));
  return given;
}

}  // namespace stoker::client
