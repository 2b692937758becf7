// SPDX-License-Identifier: Apache-2.0
#include "sys/task/signal_choice.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

namespace stoker {
namespace {

constexpr Duration kAfterTheLast = Duration::Seconds(1);

using Children = std::multimap<pid_t, const SeenProcess*>;
using PassedOver = std::function<bool(const SeenProcess&, const Children&)>;

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

// Those below which somebody lives who was told.
std::set<pid_t> AboveTold(const std::vector<SeenProcess>& program, const std::set<pid_t>& told) {
  std::map<pid_t, pid_t> parents;
  for (const SeenProcess& process : program) parents[process.pid] = process.parent;
  std::set<pid_t> above;
  for (const pid_t pid : told) {
    auto at = parents.find(pid);
    while (at != parents.end() && above.insert(at->second).second) at = parents.find(at->second);
  }
  return above;
}

std::vector<pid_t> Choose(const std::vector<SeenProcess>& program, const std::set<pid_t>& told,
                          const PassedOver& passed_over) {
  Children children;
  for (const SeenProcess& process : program) children.emplace(process.parent, &process);
  // A launcher that was passed over is not told either once its trainer's workers have ended: it
  // would signal the trainer again, in the middle of the save.
  const std::set<pid_t> above = AboveTold(program, told);
  std::vector<pid_t> chosen;
  std::vector<Below> todo = Tops(program);
  while (!todo.empty()) {
    const auto [process, parent] = todo.back();
    todo.pop_back();
    if (told.contains(process->pid)) continue;
    if (process->catches && !above.contains(process->pid) && !passed_over(*process, children) &&
        !IsCopy(*process, parent)) {
      chosen.push_back(process->pid);
      continue;
    }
    const auto [begin, end] = children.equal_range(process->pid);
    for (auto it = begin; it != end; ++it) todo.push_back({it->second, process});
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
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

namespace {

// What a launcher does at SIGTERM.
enum class Launcher {
  kNone,
  kHandsOn,    // to what it has started, and waits for that
  kToGroups,   // the same, but to all that is below, loader workers of a trainer among it
  kCutsShort,  // kills a second later, or tells one after the other
};

Launcher LauncherByName(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kHandOn = {
      "horovodrun", "srun", "make", "timeout", "uv", "uvx", "env", "nohup", "poetry", "pixi"};
  // torch's agent, in whichever of these it lives, signals the process group of each worker.
  static constexpr std::array<std::string_view, 3> kGroups = {"torchrun", "accelerate", "fabric"};
  // MPI kills a second later. deepspeed tells a rank when the one before has ended.
  static constexpr std::array<std::string_view, 9> kCut = {
      "mpirun", "mpiexec",       "orterun",         "prterun",  "prted",
      "orted",  "mpiexec.hydra", "hydra_pmi_proxy", "deepspeed"};
  const auto in = [name](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (in(kGroups)) return Launcher::kToGroups;
  if (in(kCut)) return Launcher::kCutsShort;
  return in(kHandOn) ? Launcher::kHandsOn : Launcher::kNone;
}

Launcher LauncherOfModule(std::string_view module) {
  if (module.starts_with("deepspeed.launcher.")) return Launcher::kCutsShort;
  const bool known = module == "torch.distributed.run" || module == "torch.distributed.launch" ||
                     module == "accelerate.commands.launch";
  return known ? Launcher::kToGroups : Launcher::kNone;
}

Launcher LauncherOf(const SeenProcess& process) {
  // python3 [-u] /path/torchrun …, python3 [-u] -m torch.distributed.run …
  constexpr size_t kWords = 4;
  std::string_view rest = process.command_line;
  bool module = false;
  for (size_t i = 0; i < kWords && !rest.empty(); ++i) {
    const std::string_view word = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const Launcher named = LauncherByName(word.substr(word.rfind('/') + 1));
    if (named != Launcher::kNone) return named;
    if (module) return LauncherOfModule(word);
    module = word == "-m";
    if (i > 0 && !word.starts_with('-')) break;  // the program itself: what follows is its own
  }
  return LauncherByName(process.exe);
}

// Of a launcher whose SIGTERM would keep a trainer below it from its save.
bool CutsSavesShort(const SeenProcess& process, const Children& children) {
  const Launcher launcher = LauncherOf(process);
  if (launcher != Launcher::kToGroups) return launcher == Launcher::kCutsShort;
  const auto [begin, end] = children.equal_range(process.pid);
  return std::any_of(begin, end, [&children](const auto& worker) {
    return children.contains(worker.second->pid);
  });
}

}  // namespace

bool IsLauncher(const SeenProcess& process) { return LauncherOf(process) != Launcher::kNone; }

std::vector<pid_t> ChooseReceivers(const std::vector<SeenProcess>& program,
                                   const std::set<pid_t>& told) {
  return Choose(program, told, [](const SeenProcess& process, const Children& children) {
    return IsPassedOver(process) || CutsSavesShort(process, children);
  });
}

bool AnyTrainerCatches(const std::vector<SeenProcess>& program) {
  return !Choose(program, {}, [](const SeenProcess& process, const Children&) {
            return IsPassedOver(process) || IsLauncher(process);
          }).empty();
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
