// SPDX-License-Identifier: Apache-2.0
#include "node/env/project/own_tool.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace stoker::node {
namespace {

struct Tool {
  std::string_view name;
  std::vector<std::string_view> verbs;
};

const std::vector<Tool>& Tools() {
  static const std::vector<Tool> all = {{"uv", {"run", "sync"}},
                                        {"poetry", {"run", "install", "sync"}},
                                        {"pdm", {"run", "install", "sync"}},
                                        {"hatch", {"run", "env", "shell"}},
                                        {"pixi", {"run", "install", "shell-hook"}},
                                        {"pipenv", {"run", "install", "sync"}},
                                        {"rye", {"run", "sync"}}};
  return all;
}

// Words without quotes and comments; ";" between commands.
std::vector<std::string> Words(const std::string& commands) {
  std::string plain;
  bool comment = false;
  for (size_t i = 0; i < commands.size(); ++i) {
    const char c = commands[i];
    if (c == '#' && (plain.empty() || plain.back() == ' ')) comment = true;
    if (c == '\n') comment = false;
    if (comment) continue;
    if (c == '\\' && i + 1 < commands.size() && commands[i + 1] == '\n') {
      ++i;
      plain += ' ';
    } else if (std::string_view(";&|()\n").find(c) != std::string_view::npos) {
      plain += " ; ";
    } else {
      plain += std::string_view(" \t\r\"'`").find(c) != std::string_view::npos ? ' ' : c;
    }
  }
  std::vector<std::string> words = Split(plain, ' ');
  std::erase(words, "");
  return words;
}

// What `words` has behind a tool's name, its options and their values left out.
std::string VerbBehind(const std::vector<std::string>& words, size_t at, const Tool& tool) {
  bool option = false;
  for (size_t i = at + 1; i < words.size() && words[i] != ";"; ++i) {
    const std::string& word = words[i];
    if (std::find(tool.verbs.begin(), tool.verbs.end(), word) != tool.verbs.end()) return word;
    const bool value = option && !StartsWith(word, "-");
    option = StartsWith(word, "-");
    if (!option && !value) break;
  }
  return "";
}

}  // namespace

std::string OwnTool(const std::string& commands) {
  const std::vector<std::string> words = Words(commands);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(words[i].rfind('/') + 1);
    for (const Tool& tool : Tools()) {
      if (tool.name != name) continue;
      const std::string verb = VerbBehind(words, i, tool);
      if (!verb.empty()) return name + " " + verb;
    }
  }
  return "";
}

}  // namespace stoker::node
