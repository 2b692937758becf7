// SPDX-License-Identifier: Apache-2.0
#include "sys/task/signal_choice.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stoker {
namespace {

constexpr Duration kAfterTheLast = Duration::Seconds(1);

using Children = std::multimap<pid_t, const SeenProcess*>;

// `parent` may be null: the program's first process, or an orphan.
bool IsCopy(const SeenProcess& process, const SeenProcess* parent) {
  return parent != nullptr && !process.command_line.empty() && process.exe == parent->exe &&
         process.command_line == parent->command_line;
}

struct Below {
  const SeenProcess* process;
  const SeenProcess* parent;
};

// Those that the program began with, and orphans.
std::vector<Below> Tops(const std::vector<SeenProcess>& program) {
  std::set<pid_t> pids;
  for (const SeenProcess& process : program) pids.insert(process.pid);
  std::vector<Below> tops;
  for (const SeenProcess& process : program) {
    if (!pids.contains(process.parent)) tops.push_back({&process, nullptr});
  }
  return tops;
}

}  // namespace

bool IsPassedOver(const SeenProcess& process) {
  static constexpr std::array<std::string_view, 14> kNames = {
      "sh",  "bash",  "rbash", "dash", "ash", "zsh",     "fish",
      "ksh", "ksh93", "mksh",  "tcsh", "csh", "busybox", "timeout"};
  // zsh-5.9 and the like.
  const std::string_view name = std::string_view(process.exe).substr(0, process.exe.find('-'));
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::vector<pid_t> ChooseReceivers(const std::vector<SeenProcess>& program,
                                   const std::set<pid_t>& told) {
  Children children;
  for (const SeenProcess& process : program) children.emplace(process.parent, &process);
  std::vector<pid_t> chosen;
  std::vector<Below> todo = Tops(program);
  while (!todo.empty()) {
    const auto [process, parent] = todo.back();
    todo.pop_back();
    if (told.contains(process->pid)) continue;
    if (process->catches && !IsPassedOver(*process) && !IsCopy(*process, parent)) {
      chosen.push_back(process->pid);
      continue;
    }
    const auto [begin, end] = children.equal_range(process->pid);
    for (auto it = begin; it != end; ++it) todo.push_back({it->second, process});
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<pid_t> ShellsThatTrap(const std::vector<SeenProcess>& program) {
  std::vector<pid_t> shells;
  for (const SeenProcess& process : program) {
    if (process.catches && IsPassedOver(process)) shells.push_back(process.pid);
  }
  std::sort(shells.begin(), shells.end());
  return shells;
}

std::vector<pid_t> StopRound::Step(const std::vector<SeenProcess>& alive, MonoTime now) {
  std::set<pid_t> told;  // and alive
  for (const SeenProcess& process : alive) {
    const auto found = told_.find(process.pid);
    if (found != told_.end() && found->second == process.start_ticks) told.insert(process.pid);
  }
  std::vector<pid_t> chosen = ChooseReceivers(alive, told);
  if (!begun_ && chosen.empty() && !alive.empty()) nobody_ = everybody_ = true;
  begun_ = true;
  if (!chosen.empty() || !told.empty()) {
    ended_.reset();
  } else if (!ended_) {
    ended_ = now;
  } else if (now - *ended_ >= kAfterTheLast) {
    everybody_ = true;
  }
  if (everybody_) {
    chosen.clear();
    for (const SeenProcess& process : alive) {
      if (!told.contains(process.pid)) chosen.push_back(process.pid);
    }
  }
  for (const SeenProcess& process : alive) {
    if (std::find(chosen.begin(), chosen.end(), process.pid) != chosen.end()) {
      told_[process.pid] = process.start_ticks;
    }
  }
  return chosen;
}

}  // namespace stoker
