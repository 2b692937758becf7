// SPDX-License-Identifier: Apache-2.0
#include "node/env/project/lock_text.h"

#include "base/text.h"

namespace stoker::node {

std::vector<std::string> WithoutHash(const std::string& exported) {
  std::vector<std::string> without;
  bool open = false;  // the last of `without` may have its hashes below
  for (const std::string& line : Split(exported, '\n')) {
    if (open && line.find("--hash=") != std::string::npos) {
      without.pop_back();
      open = false;
    }
    const bool begins =
        !line.empty() && line[0] != ' ' && line[0] != '#' && !StartsWith(line, "--");
    if (!begins) continue;
    const size_t end = StartsWith(line, "-e ") ? std::string::npos : line.find_first_of(" ;\\");
    without.push_back(Printable(line.substr(0, end)));
    open = line.find("--hash=") == std::string::npos;
    if (!open) without.pop_back();
  }
  return without;
}

std::string DropHashes(const std::string& exported) {
  std::string plain;
  for (const std::string& line : Split(exported, '\n')) {
    if (line.find("--hash=") != std::string::npos) continue;
    plain += line.substr(0, EndsWith(line, " \\") ? line.size() - 2 : line.size()) + "\n";
  }
  return plain;
}

std::vector<std::string> IndexOptions(const std::string& help) {
  std::vector<std::string> options;
  for (const char* option : {"--emit-index-url", "--emit-find-links"}) {
    if (help.find(option) != std::string::npos) options.emplace_back(option);
  }
  return options;
}

std::string IndexLines(const std::vector<ProjectIndex>& indexes) {
  std::string lines;
  for (const ProjectIndex& index : indexes) {
    const char* option = index.kind == "default" ? "--index-url "
                         : index.kind == "flat"  ? "--find-links "
                                                 : "--extra-index-url ";
    lines += option + index.url + "\n";
  }
  return lines;
}

}  // namespace stoker::node
