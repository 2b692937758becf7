// SPDX-License-Identifier: Apache-2.0
#include "node/env/requirements.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace stoker::node {
namespace {

std::string Strip(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// A comment begins at a '#' at the start or after a space; elsewhere it is part of an address.
std::string WithoutComment(const std::string& line) {
  for (size_t at = line.find('#'); at != std::string::npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  }
  return line;
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// A file of this machine. What git keeps is known by its commit, wherever it lies.
bool NamesFileUrl(const std::string& word) {
  return word.find("file:") != std::string::npos && word.find("git+file:") == std::string::npos;
}

bool IsAddress(const std::string& word) {
  return word.find("://") != std::string::npos && !NamesFileUrl(word);
}

// "-r more.txt", "-rmore.txt", "--requirement more.txt", "--requirement=more.txt" -> "more.txt".
bool TakesOption(const std::string& line, const std::string& brief, const std::string& full,
                 std::string* value) {
  for (const std::string& name : {full, brief}) {
    if (!StartsWith(line, name)) continue;
    std::string rest = line.substr(name.size());
    if (name == full && !rest.empty() && rest[0] != '=' && rest[0] != ' ' && rest[0] != '\t')
      continue;
    if (!rest.empty() && rest[0] == '=') rest = rest.substr(1);
    *value = Strip(rest);
    return true;
  }
  return false;
}

bool NamesFile(const std::string& requirement) {
  // "name @ file:///x; marker": what counts stands before the marker.
  const std::string word = Strip(requirement.substr(0, requirement.find(';')));
  if (NamesFileUrl(word)) return true;
  if (IsAddress(word)) return false;
  return word.find('/') != std::string::npos || word[0] == '.' || EndsWith(word, ".whl") ||
         EndsWith(word, ".zip") || EndsWith(word, ".tar.gz");
}

RequirementsScope ScopeOfLine(const std::string& line) {
  using enum RequirementsScope;
  if (line.empty()) return kFile;
  std::string value;
  if (TakesOption(line, "-e", "--editable", &value)) return IsAddress(value) ? kFile : kDirectory;
  for (const auto& [brief, full] :
       {std::pair("-r", "--requirement"), {"-c", "--constraint"}, {"-f", "--find-links"}}) {
    if (TakesOption(line, brief, full, &value)) return IsAddress(value) ? kFile : kCode;
  }
  if (line[0] == '-') return kFile;  // --index-url and such: addresses and switches
  return NamesFile(line) ? kCode : kFile;
}

}  // namespace

RequirementsScope ScopeOfRequirements(std::string_view text) {
  RequirementsScope scope = RequirementsScope::kFile;
  std::string joined;  // a backslash at the end joins lines
  for (const std::string& raw : Split(text, '\n')) {
    joined += WithoutComment(raw);
    if (EndsWith(joined, "\\")) {
      joined.back() = ' ';
      continue;
    }
    scope = std::max(scope, ScopeOfLine(Strip(joined)));
    joined.clear();
  }
  return std::max(scope, ScopeOfLine(Strip(joined)));
}

}  // namespace stoker::node
