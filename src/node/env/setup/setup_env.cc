// SPDX-License-Identifier: Apache-2.0
#include "node/env/setup/setup_env.h"

#include <sys/stat.h>

#include "base/text.h"
#include "spec/text/env_text.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr int64_t kMaxBytes = 1 << 20;
constexpr const char* kNames[] = {".bashrc", ".profile", ".bash_profile", ".zshrc", ".zprofile"};

}  // namespace

Status MakeSetupFile(const std::string& path) {
  return sys::WriteFileAtomic(path, "", 0600, false);
}

SetupLeft ReadSetupFile(const std::string& path) {
  SetupLeft left;
  const auto text = sys::ReadFile(path, kMaxBytes);
  if (!text.ok()) {
    if (!text.status().Is(Code::kNotFound)) left.notes.push_back(text.status().ToString());
    return left;
  }
  const EnvText read = ParseEnvText(*text, EnvStyle::kLiteral);
  for (const std::string& mistake : read.mistakes) {
    left.notes.push_back("$STOKER_ENV, " + mistake + ": left out");
  }
  for (const EnvLine& line : read.lines) {
    const std::string where = "$STOKER_ENV, line " + std::to_string(line.line) + ": ";
    if (!line.value) {
      left.notes.push_back(where + line.name + " has no value: left out");
    } else if (StartsWith(line.name, "STOKER_")) {
      left.notes.push_back(where + line.name + " is set by stoker itself: left out");
    } else {
      std::erase_if(left.variables, [&](const auto& known) { return known.first == line.name; });
      left.variables.emplace_back(line.name, *line.value);
    }
  }
  return left;
}

ShellFiles::ShellFiles(const std::string& home) : home_(home) {
  for (const char* name : kNames) stamps_.emplace_back(name, Stamp(home_ + "/" + name));
}

std::string ShellFiles::Stamp(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return "";
  return std::to_string(st.st_ino) + " " + std::to_string(st.st_size) + " " +
         std::to_string(st.st_mtim.tv_sec) + "." + std::to_string(st.st_mtim.tv_nsec);
}

std::string ShellFiles::Changed() const {
  std::vector<std::string> changed;
  for (const auto& [name, stamp] : stamps_) {
    if (Stamp(home_ + "/" + name) != stamp) changed.push_back("~/" + name);
  }
  if (changed.empty()) return "";
  return "setup changed " + Join(changed, ", ") +
         ", on this machine your own, and 'run' does not read it: write lines of NAME=VALUE into "
         "the file $STOKER_ENV instead";
}

}  // namespace stoker::node
