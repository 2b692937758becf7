// SPDX-License-Identifier: Apache-2.0
#include "node/env/project/choose_project.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "node/env/project/own_tool.h"

namespace stoker::node {
namespace {

// In the order in which they count.
constexpr std::string_view kUsed[] = {"requirements.txt", "uv.lock", "poetry.lock", "pdm.lock",
                                      "pyproject.toml"};
struct Unused {
  std::string_view file;
  std::string_view instead;
};
constexpr Unused kUnused[] = {
    {"environment.yml",
     "echo '# environment.yml' > requirements.txt, which conda, mamba or micromamba then makes; or "
     "submit from its environment"},
    {"environment.yaml",
     "echo '# environment.yaml' > requirements.txt, which conda, mamba or micromamba then makes; "
     "or "
     "submit from its environment"},
    {"Pipfile", "pipenv requirements > requirements.txt"},
    {"setup.py", "echo '-e .' > requirements.txt"}};

// "My.Package" -> "my-package", as packages are compared.
std::string PlainName(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.') {
      if (!EndsWith(plain, "-")) plain += '-';
    } else {
      plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return plain;
}

using Numbers = std::array<int, 3>;

// "3.11.*" are two; `count` of them were there.
Numbers Parse(std::string_view text, size_t* count) {
  Numbers numbers{};
  *count = 0;
  for (const std::string& part : Split(std::string(text), '.')) {
    if (*count == numbers.size()) break;
    const auto got = std::from_chars(part.data(), part.data() + part.size(), numbers[*count]);
    if (got.ec != std::errc()) break;
    ++*count;
  }
  return numbers;
}

bool SameStart(const Numbers& a, const Numbers& b, size_t count) {
  return std::equal(a.begin(), a.begin() + static_cast<ptrdiff_t>(count), b.begin());
}

bool OneAllows(const Numbers& is, const std::string& part) {
  const size_t digits = part.find_first_of("0123456789");
  if (digits == std::string::npos) return true;
  std::string sign = part.substr(0, digits);
  std::erase(sign, ' ');
  size_t count = 0;
  const Numbers wanted = Parse(part.substr(digits), &count);
  const bool star = part.find('*') != std::string::npos;
  if (sign == ">=") return is >= wanted;
  if (sign == ">") return is > wanted;
  if (sign == "<=") return is <= wanted;
  if (sign == "<") return is < wanted;
  if (sign == "==") return star ? SameStart(is, wanted, count) : is == wanted;
  if (sign == "!=") return star ? !SameStart(is, wanted, count) : is != wanted;
  if (sign == "~=") return is >= wanted && count > 1 && SameStart(is, wanted, count - 1);
  return true;
}

}  // namespace

ProjectChoice ChooseProject(const std::set<std::string>& files, bool activated,
                            const std::string& commands) {
  ProjectChoice choice;
  for (const std::string_view name : kUsed) {
    if (files.count(std::string(name)) == 0) continue;
    choice.file = name;
    break;
  }
  // A lock is of a project.
  if (EndsWith(choice.file, ".lock") && files.count("pyproject.toml") == 0) choice.file = "";
  if (choice.file == "requirements.txt") return choice;
  if (const std::string tool = OwnTool(commands); !tool.empty()) {
    if (!choice.file.empty()) {
      choice.unused = choice.file + " is left to the job itself, which has '" + tool + "'";
      choice.file = "";
    }
    return choice;
  }
  if (activated && !choice.file.empty()) {
    choice.unused = choice.file + " is not used: the job has the environment that you stand in";
    choice.file = "";
  }
  if (!choice.file.empty() || activated) return choice;
  for (const Unused& other : kUnused) {
    if (files.count(std::string(other.file)) == 0) continue;
    choice.unused = std::string(other.file) +
                    " is not used. For a job to have it: " + std::string(other.instead);
    break;
  }
  return choice;
}

std::vector<std::string> NeedsWithSource(const std::string& needs,
                                         const std::vector<std::string>& sources) {
  std::set<std::string> own;
  for (const std::string& source : sources) own.insert(PlainName(source));
  std::vector<std::string> found;
  for (const std::string& need : Split(needs, '\n')) {
    const std::string name = need.substr(0, need.find_first_of(" [<>=!~;@("));
    if (!name.empty() && own.count(PlainName(name)) > 0) found.push_back(name);
  }
  return found;
}

bool PythonAllowed(std::string_view version, std::string_view wanted) {
  size_t count = 0;
  const Numbers is = Parse(version, &count);
  const auto parts = Split(std::string(wanted), ',');
  return std::all_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return OneAllows(is, part); });
}

bool PythonIsThat(std::string_view version, std::string_view wanted) {
  size_t count = 0;
  const Numbers is = Parse(version, &count);
  const Numbers that = Parse(wanted.substr(0, wanted.find('\n')), &count);
  return SameStart(is, that, std::min<size_t>(count, 2));
}

}  // namespace stoker::node
