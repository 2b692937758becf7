// SPDX-License-Identifier: Apache-2.0
#include "spec/text/arguments.h"

#include <algorithm>

#include "base/text.h"
#include "spec/text/secrets.h"

namespace stoker {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr size_t kMost = 200;

bool IsNumeral(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.+-eE_") == text.npos &&
         text.find_first_of("0123456789") != text.npos;
}

bool IsOption(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !IsNumeral(word) && word != "--";
}

// A letter or '_' first, then what names of parameters are made of.
bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= 100 &&
         ((IsAlnum(text[0]) && text[0] > '9') || text[0] == '_') &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return IsAlnum(c) || c == '_' || c == '.' || c == '-' || c == '/' || c == '@';
         });
}

// Where the arguments of the program itself begin.
size_t BehindTheScript(const std::vector<std::string>& argv) {
  for (size_t i = 0; i < argv.size(); ++i) {
    if (argv[i] == "-m" && i > 0 && i + 1 < argv.size()) return i + 2;
    for (const std::string_view ending : {".py", ".sh", ".R", ".jl"}) {
      if (!IsOption(argv[i]) && EndsWith(argv[i], ending)) return i + 1;
    }
  }
  return std::min<size_t>(1, argv.size());
}

void Put(std::string name, const std::string& value, Pairs* out) {
  if (!IsName(name)) return;
  std::replace(name.begin(), name.end(), '-', '_');
  const auto same = [&](const auto& pair) { return pair.first == name; };
  const auto found = std::find_if(out->begin(), out->end(), same);
  if (found != out->end()) {
    found->second = value;
  } else if (out->size() < kMost) {
    out->emplace_back(name, value);
  }
}

}  // namespace

Pairs NamedArguments(const std::vector<std::string>& argv) {
  Pairs out;
  for (size_t i = BehindTheScript(argv); i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word == "--") break;
    const size_t sign = word.find('=');
    if (!IsOption(word)) {
      const size_t from = word.find_first_not_of('+');  // Hydra's "+lr=0.1" adds one
      if (sign != word.npos && from < sign) {
        Put(word.substr(from, sign - from), word.substr(sign + 1), &out);
      }
      continue;
    }
    const std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    if (name.empty()) continue;  // a line of dashes
    if (sign != word.npos) {
      Put(name.substr(0, name.find('=')), word.substr(sign + 1), &out);
    } else if (i + 1 < argv.size() && !IsOption(argv[i + 1]) && argv[i + 1] != "--") {
      Put(name, argv[++i], &out);
    } else {
      Put(name, "true", &out);
    }
  }
  return out;
}

std::string SecretInArgument(std::string_view name, std::string_view value) {
  if (std::string what = SecretInText(value); !what.empty()) return what;
  if (value.empty() || IsNumeral(value) || value.find_first_of("$<[{") == 0) return "";
  for (const std::string_view word : {"true", "false", "True", "False", "None", "null", "***"}) {
    if (value == word) return "";
  }
  std::string variable(name);
  std::replace_if(
      variable.begin(), variable.end(), [](char c) { return !IsAlnum(c); }, '_');
  return SecretInEnv(variable, value);
}

std::string ShownArgument(std::string_view name, std::string_view value) {
  return SecretInArgument(name, value).empty() ? std::string(value) : "***";
}

}  // namespace stoker
