// SPDX-License-Identifier: Apache-2.0
#include "sys/container/enter.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "container/engine_argv.h"
#include "sys/container/engine_notes.h"
#include "sys/container/engines.h"
#include "sys/file.h"
#include "sys/task/process_table.h"

extern char** environ;

namespace stoker {
namespace {

constexpr int64_t kMostEnvironment = 8 << 20;
constexpr char kShell[] =
    "if command -v bash >/dev/null 2>&1; then exec bash; else exec /bin/sh; fi";

bool IsStoker(const ProcessStat& p) {
  struct stat own {
  }, its{};
  const std::string exe = "/proc/" + std::to_string(p.pid) + "/exe";
  return stat("/proc/self/exe", &own) == 0 && stat(exe.c_str(), &its) == 0 &&
         own.st_ino == its.st_ino && own.st_dev == its.st_dev;
}

// The oldest that the first process has begun, which is the program.
std::optional<pid_t> Program() {
  std::optional<ProcessStat> best;
  for (const ProcessStat& p : ListProcesses()) {
    if (p.parent != 1 || p.ended() || IsStoker(p)) continue;
    if (!best || p.start_ticks < best->start_ticks) best = p;
  }
  return best ? std::optional(best->pid) : std::nullopt;
}

// What is this terminal's stays.
std::vector<std::string> EnvironmentOf(pid_t pid) {
  std::vector<std::string> out;
  const auto text =
      sys::ReadFile("/proc/" + std::to_string(pid) + "/environ", kMostEnvironment).value_or("");
  for (std::string& entry : Split(text, '\0')) {
    if (!entry.empty() && !StartsWith(entry, "TERM=")) out.push_back(std::move(entry));
  }
  if (const char* term = std::getenv("TERM"); term != nullptr) {
    out.push_back(std::string("TERM=") + term);
  }
  return out;
}

void GoWhereItIs(pid_t pid) {
  char folder[PATH_MAX];
  const std::string link = "/proc/" + std::to_string(pid) + "/cwd";
  const ssize_t size = readlink(link.c_str(), folder, sizeof folder - 1);
  if (size <= 0) return;
  folder[size] = '\0';
  (void)!chdir(folder);
}

}  // namespace

Result<std::vector<std::string>> EnterWords(const EnterAsk& ask) {
  std::string why;
  const EngineNotes notes(ask.state_dir);
  for (const FoundEngine& found : FindEngines()) {
    if (!notes.Has(found.facts)) continue;
    if (!found.trouble.empty()) {
      why = found.trouble;
      continue;
    }
    const auto id = ContainerOf(found.facts, ask.owner);
    if (!id.ok()) why = id.status().ToString();
    if (!id.ok() || id->empty()) continue;
    std::vector<std::string> words = {found.facts.program, "exec", "--interactive"};
    if (ask.terminal) words.emplace_back("--tty");
    words.insert(words.end(), {*id, kContainerProgram, kInsideVerb});
    if (!ask.command.empty()) words.push_back(ask.command);
    return words;
  }
  return Status(Code::kUnavailable,
                "it has no container now that a shell can be begun in (apptainer's cannot be "
                "entered)" +
                    (why.empty() ? std::string() : ": " + why),
                "With --outside the shell is on the machine itself");
}

int EnterMain(const std::string& state_dir, const std::string& owner, const std::string& command) {
  auto words = EnterWords({state_dir, owner, command, isatty(STDIN_FILENO) != 0});
  if (!words.ok()) {
    std::fprintf(stderr, "stoker: %s\n", words.status().ToString().c_str());
    return 1;
  }
  std::vector<char*> argv;
  for (std::string& word : *words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  std::fprintf(stderr, "stoker: %s: %s\n", argv[0], std::strerror(errno));
  return 127;
}

int InsideMain(const char* command) {
  std::vector<std::string> env;
  if (const auto program = Program()) {
    env = EnvironmentOf(*program);
    GoWhereItIs(*program);
  }
  if (env.empty()) {
    std::fprintf(stderr,
                 "stoker: no program runs in the container now: the environment is its "
                 "image's\n");
    for (char** entry = environ; *entry != nullptr; ++entry) env.emplace_back(*entry);
  }
  std::vector<char*> pointers;
  for (std::string& one : env) pointers.push_back(one.data());
  pointers.push_back(nullptr);
  const char* argv[] = {"/bin/sh", "-c", *command != '\0' ? command : kShell, nullptr};
  execve(argv[0], const_cast<char**>(argv), pointers.data());  // NOLINT
  std::fprintf(stderr, "stoker: the image has no /bin/sh: %s\n", std::strerror(errno));
  return 127;
}

}  // namespace stoker
