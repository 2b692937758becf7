// SPDX-License-Identifier: Apache-2.0
#include "node/ran/python_seen.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

#include "base/text.h"
#include "sys/command.h"
#include "sys/file.h"
#include "sys/program_lookup.h"
#include "sys/task/process_table.h"

namespace stoker::node {
namespace {

constexpr int64_t kAskPythonMs = 10'000;
constexpr int64_t kMostOfProc = 4 << 20;

// Each line has a word of ours in front: a sitecustomize may print, too.
constexpr char kAsk[] =
    "import os, sys\n"
    "out = ['version ' + sys.version.split()[0]] + ['path ' + p for p in sys.path]\n"
    "os.write(1, os.fsencode(''.join('stoker-' + line + '\\n' for line in out)))\n";

std::string LinkOf(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size = readlink(path.c_str(), buffer.data(), buffer.size());
  return size > 0 ? std::string(buffer.data(), static_cast<size_t>(size)) : "";
}

std::vector<std::string> ZeroEnded(const std::string& text) {
  std::vector<std::string> words = Split(text, '\0');
  if (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

std::string ValueOf(const std::vector<std::string>& variables, const std::string& name) {
  for (const std::string& variable : variables) {
    if (StartsWith(variable, name + "=")) return variable.substr(name.size() + 1);
  }
  return "";
}

bool IsCalledPython(const std::string& exe) {
  const std::string name = exe.substr(exe.rfind('/') + 1);
  return StartsWith(name, "python") || StartsWith(name, "pypy");
}

// Python programs that start what they are given in another environment than their own.
constexpr const char* kLeadElsewhere[] = {"conda", "mamba", "hatch", "nox", "tox"};

// What it was started as: the executable itself is that of the base, where a virtual environment
// has a link to it.
std::string StartedAs(const std::string& exe, const std::vector<std::string>& words,
                      const std::vector<std::string>& variables, const std::string& cwd) {
  std::vector<std::string> tried;
  if (!words.empty()) {
    tried.push_back(FindProgram(words[0], ValueOf(variables, "PATH"), cwd).value_or(""));
  }
  if (const std::string venv = ValueOf(variables, "VIRTUAL_ENV"); !venv.empty()) {
    tried.push_back(venv + "/bin/python");
  }
  for (const std::string& path : tried) {
    if (!path.empty() && sys::RealPath(path).value_or("") == exe) return path;
  }
  return exe;
}

}  // namespace

bool LeadsElsewhere(const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size() && i <= 3; ++i) {
    if (words[i] == "-m" && i + 1 < words.size()) continue;
    const std::string name = words[i].substr(words[i].rfind('/') + 1);
    for (const char* known : kLeadElsewhere) {
      if (name == known) return true;
    }
    if (!StartsWith(name, "-")) return false;  // its script
  }
  return false;
}

std::optional<PythonSeen> SeePython(const std::vector<int>& pids) {
  std::vector<std::pair<uint64_t, int>> by_age;
  for (const int pid : pids) {
    const auto stat = ReadProcessStat(pid);
    if (stat && !stat->ended()) by_age.emplace_back(stat->start_ticks, pid);
  }
  std::sort(by_age.begin(), by_age.end());
  for (const auto& [age, pid] : by_age) {
    const std::string proc = "/proc/" + std::to_string(pid);
    const std::string exe = LinkOf(proc + "/exe");
    if (!IsCalledPython(exe)) continue;
    const auto words = ZeroEnded(sys::ReadFile(proc + "/cmdline", kMostOfProc).value_or(""));
    const auto variables = sys::ReadFile(proc + "/environ", kMostOfProc);
    if (!variables.ok() || LeadsElsewhere(words)) continue;
    PythonSeen seen;
    seen.variables = ZeroEnded(*variables);
    seen.path = StartedAs(exe, words, seen.variables, LinkOf(proc + "/cwd"));
    return seen;
  }
  return std::nullopt;
}

std::optional<PythonSeen> AssumePython(const std::string& words, const contract::Environment& env,
                                       const std::string& cwd) {
  std::vector<std::string> tried;
  for (const std::string& line : Split(words, '\n')) {
    for (const std::string& word : Split(line, ' ')) {
      if (IsCalledPython(word)) tried.push_back(word);
    }
  }
  tried.push_back("python3");
  PythonSeen seen;
  for (const auto& [name, value] : env) seen.variables.push_back(name + "=" + value);
  for (const std::string& name : tried) {
    const auto found = FindProgram(name, ValueOf(seen.variables, "PATH"), cwd);
    if (!found.ok()) continue;
    seen.path = *found;
    return seen;
  }
  return std::nullopt;
}

Result<PythonSaid> AskSeen(const PythonSeen& python) {
  sys::Command ask;
  ask.argv = {python.path, "-c", kAsk};
  ask.env = python.variables;
  // It is none of the task's processes.
  std::erase_if(ask.env, [](const std::string& variable) {
    return StartsWith(variable, std::string(kInstanceMark) + "=") ||
           StartsWith(variable, std::string(kTaskMark) + "=");
  });
  ask.max_output = 1 << 20;
  const auto said = sys::RunCommands({ask}, kAskPythonMs);
  if (!said[0].ok()) return said[0].status();
  if (said[0]->exit_code != 0) {
    return Status(Code::kInvalid,
                  python.path + " -c ended with exit code " + std::to_string(said[0]->exit_code));
  }
  return ParsePythonSaid(said[0]->out);
}

Result<PythonSaid> ParsePythonSaid(std::string_view text) {
  PythonSaid said;
  for (const std::string& line : Split(text, '\n')) {
    constexpr std::string_view kVersion = "stoker-version ";
    constexpr std::string_view kPath = "stoker-path ";
    if (StartsWith(line, kVersion)) said.version = line.substr(kVersion.size());
    if (StartsWith(line, kPath) && line.size() > kPath.size() && line[kPath.size()] == '/') {
      said.path.push_back(line.substr(kPath.size()));
    }
  }
  if (said.version.empty()) return Status(Code::kInvalid, "the Python did not say its version");
  return said;
}

}  // namespace stoker::node
