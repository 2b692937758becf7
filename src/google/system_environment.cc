// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "google/environment.h"
#include "net/http_client.h"
#include "sys/command.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr size_t kMaxOutput = 1 << 20;

Result<GoogleProcessOutput> Run(const std::vector<std::string>& argv, const GoogleVariables& more,
                                Duration within) {
  sys::Command command;
  command.argv = argv;
  command.max_output = kMaxOutput;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name = std::string(*variable).substr(0, std::strcspn(*variable, "="));
    const bool ours = std::any_of(more.begin(), more.end(),
                                  [&](const auto& entry) { return entry.first == name; });
    if (!ours) command.env.emplace_back(*variable);
  }
  for (const auto& [name, value] : more) command.env.push_back(name + "=" + value);
  auto results = sys::RunCommands({std::move(command)}, within.ms);
  if (!results[0].ok()) return results[0].status();
  return GoogleProcessOutput{results[0]->exit_code, std::move(results[0]->out)};
}

}  // namespace

GoogleEnvironment SystemGoogleEnvironment(HttpSend http) {
  constexpr int64_t kMaxFile = 4 << 20;
  GoogleEnvironment out;
  out.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
  out.read_file = [](const std::string& path) { return sys::ReadFile(path, kMaxFile); };
  out.now = [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return WallTime{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
  };
  out.http = std::move(http);
  out.listens = Listens;
  out.run = Run;
  out.home = sys::HomeDir();
  return out;
}

}  // namespace stoker
