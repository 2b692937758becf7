// SPDX-License-Identifier: Apache-2.0
#include "client/local_shell.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sys/container/enter.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr int64_t kMostBytes = 8 << 20;
constexpr size_t kStartField = 19;  // of /proc/<pid>/stat behind the name: starttime, proc(5)

// In clock ticks since the boot; the largest number when the process is gone.
uint64_t StartOf(const std::string& pid) {
  const auto stat = sys::ReadFile("/proc/" + pid + "/stat", 1 << 16);
  if (!stat.ok()) return UINT64_MAX;
  const size_t name = stat->rfind(") ");
  if (name == std::string::npos) return UINT64_MAX;
  const auto fields = Split(stat->substr(name + 2), ' ');
  const auto start =
      fields.size() > kStartField ? WholeNumber(fields[kStartField], 0, INT64_MAX) : std::nullopt;
  return start ? static_cast<uint64_t>(*start) : UINT64_MAX;
}

}  // namespace

std::optional<ProgramEnvironment> ReadProgramEnvironment(const std::string& environ_text,
                                                         const std::string& job, int attempt,
                                                         int rank) {
  ProgramEnvironment found;
  for (std::string& each : Split(environ_text, '\0')) {
    if (!each.empty()) found.all.push_back(std::move(each));
  }
  const auto has = [&](const std::string& line) {
    return std::find(found.all.begin(), found.all.end(), line) != found.all.end();
  };
  if (!has("STOKER_JOB_ID=" + job) || !has("STOKER_ATTEMPT=" + std::to_string(attempt)) ||
      !has("STOKER_NODE_RANK=" + std::to_string(rank))) {
    return std::nullopt;
  }
  found.setup = has("SKYPILOT_SETUP_NODE_RANK=" + std::to_string(rank));
  return found;
}

// The oldest one: what it started may have changed its own.
std::optional<std::vector<std::string>> EnvironmentOfProgram(const std::string& job, int attempt,
                                                             int rank) {
  std::optional<ProgramEnvironment> best;
  uint64_t best_start = 0;
  const auto processes = sys::ListDir("/proc");
  for (const sys::DirEntry& entry : processes.value_or({})) {
    const std::string& pid = entry.name;
    if (pid.empty() || !IsDigit(pid[0])) continue;
    const auto text = sys::ReadFile("/proc/" + pid + "/environ", kMostBytes);
    if (!text.ok()) continue;
    auto found = ReadProgramEnvironment(*text, job, attempt, rank);
    if (!found) continue;
    const uint64_t start = StartOf(pid);
    if (best && std::pair(best->setup, best_start) <= std::pair(found->setup, start)) continue;
    best = std::move(found);
    best_start = start;
  }
  if (!best) return std::nullopt;
  return std::move(best->all);
}

Result<std::vector<std::string>> ContainerShell(const std::string& state_dir,
                                                const std::string& instance,
                                                const std::string& command) {
  STOKER_ASSIGN(const std::string state, sys::RealPath(state_dir));
  EnterAsk ask;
  ask.state_dir = state;
  ask.owner = state + "/instances/" + instance;
  ask.command = command;
  ask.terminal = isatty(STDIN_FILENO) != 0;
  return EnterWords(ask);
}

}  // namespace stoker::client
