// SPDX-License-Identifier: Apache-2.0
#include "spec/program.h"

#include <algorithm>

#include "base/letter_case.h"
#include "base/text.h"
#include "spec/sections.h"
#include "spec/text/arguments.h"
#include "spec/text/env_text.h"
#include "spec/text/json_text.h"
#include "spec/text/script_end.h"
#include "spec/text/secrets.h"

namespace stoker {
namespace {

constexpr size_t kMaxArguments = 10'000;
constexpr size_t kMaxCommandBytes = 1 << 20;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Becomes an argument ("--name value"), part of a variable's name and a column title.
bool IsHyperparameterName(std::string_view name) {
  constexpr std::string_view kMore = ".-/:@+";
  return !name.empty() && name.size() <= 255 && (IsLetter(name[0]) || IsDigit(name[0])) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return IsLetter(c) || IsDigit(c) || kMore.find(c) != std::string_view::npos;
         });
}

template <typename Pairs>
void SetPair(Pairs* pairs, const std::string& name, std::string value) {
  const auto found =
      std::find_if(pairs->begin(), pairs->end(), [&](const auto& p) { return p.first == name; });
  if (found != pairs->end()) {
    found->second = std::move(value);
  } else {
    pairs->emplace_back(name, std::move(value));
  }
}

bool RefuseSecret(const YamlNode& at, std::string_view what, std::string_view text, Judge judge,
                  SpecReader* reader) {
  if (judge == Judge::kStored) return false;
  const std::string secret = SecretInText(text);
  if (secret.empty()) return false;
  YamlNode place = at;
  place.text.clear();  // the secret itself must not get into a message
  reader->Error(place, std::string(what) + " holds what looks like " + secret, SecretAdvice(""));
  return true;
}

// Of a name that tells; the value is not printed.
bool RefuseSecretArgument(const std::vector<std::string>& argv, const YamlNode& at,
                          SpecReader* reader) {
  for (const auto& [name, value] : NamedArguments(argv)) {
    const std::string secret = SecretInArgument(name, value);
    if (secret.empty()) continue;
    YamlNode place = at;
    place.text.clear();
    std::string variable = UpperCase(name);
    std::replace_if(
        variable.begin(), variable.end(), [](char c) { return !IsAlnum(c); }, '_');
    reader->Error(place, "the argument " + Quoted(name) + " looks like " + secret,
                  SecretAdvice(variable));
    return true;
  }
  return false;
}

}  // namespace

void SetEnv(const YamlNode& key, const std::string& value, const YamlNode& at, Judge judge,
            SpecReader* reader, JobSpec* spec) {
  const std::string& name = key.text;
  if (!IsEnvName(name)) {
    reader->Error(key, Quoted(name) + " is not a name for a variable",
                  "Use letters, digits and '_', and no digit first");
    return;
  }
  if (judge == Judge::kSubmitted) {
    if (StartsWith(name, "STOKER_")) {
      reader->Error(key, Quoted(name) + " is set by stoker itself", "Use another name");
      return;
    }
    if (const std::string secret = SecretInEnv(name, value); !secret.empty()) {
      reader->Error(key, "the variable " + Quoted(name) + " looks like " + secret,
                    SecretAdvice(name));
      return;
    }
    if (name.size() + 1 + value.size() > kMaxArgumentBytes) {
      reader->Error(at.IsScalar() ? key : at,
                    "the variable " + Quoted(name) + " has more than 128 KiB: no program starts",
                    "Put it in a file of the work directory");
      return;
    }
  }
  SetPair(&spec->envs, name, value);
}

void ReadEnvs(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec,
              std::map<std::string, YamlNode>* unset) {
  if (!reader->ExpectMap(node, "envs")) return;
  if (!reader->ExpectAtMost(node, "envs", node.entries.size(), kMaxEnvs)) return;
  for (const YamlEntry& entry : node.entries) {
    if (entry.value.IsNull()) {
      // Keeps its place in the order; the flag gives the value.
      const size_t before = reader->errors().size();
      SetEnv(entry.key, "", entry.value, judge, reader, spec);
      if (reader->errors().size() == before) (*unset)[entry.key.text] = entry.key;
    } else if (const auto value = reader->Text(entry.value, "envs." + entry.key.text)) {
      SetEnv(entry.key, *value, entry.value, judge, reader, spec);
    }
  }
}

void SetHyperparameter(const YamlNode& key, const YamlNode& value, Judge judge, SpecReader* reader,
                       JobSpec* spec) {
  if (!IsHyperparameterName(key.text)) {
    reader->Error(key, Quoted(key.text) + " is not a name for a hyperparameter",
                  "Use letters, digits and _ . - / : @ +, a letter, digit or '_' first");
    return;
  }
  RefuseLostColon(key, value, reader);
  std::string json = NodeToJson(value, reader);
  const std::string what = "the hyperparameter " + Quoted(key.text);
  if (RefuseSecret(value, what, json, judge, reader)) return;
  if (judge == Judge::kSubmitted && json.size() + key.text.size() > kMaxArgumentBytes - 64) {
    reader->Error(key, what + " has more than 128 KiB", "Put it in a file of the work directory");
    return;
  }
  SetPair(&spec->hyperparameters, key.text, std::move(json));
}

void ReadHyperparameters(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "hyperparameters")) return;
  const size_t count = node.entries.size();
  if (!reader->ExpectAtMost(node, "hyperparameters", count, kMaxHyperparameters)) return;
  for (const YamlEntry& entry : node.entries) {
    SetHyperparameter(entry.key, entry.value, judge, reader, spec);
  }
}

bool IsBlankScript(std::string_view script) {
  for (const std::string& line : Split(script, '\n')) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos && line[first] != '#') return false;
  }
  return true;
}

std::optional<std::string> ReadScript(const YamlNode& node, std::string_view what, Judge judge,
                                      SpecReader* reader) {
  std::optional<std::string> script = reader->Text(node, what);
  if (!script) return std::nullopt;
  const std::string named = "'" + std::string(what) + "'";
  if (judge == Judge::kStored) return script;
  if (script->size() > kMaxScriptBytes) {
    reader->Error(node, named + " has more than 100 KiB",
                  "Put the script in a file of the work directory and call it");
    return std::nullopt;
  }
  // A shell takes the CR of a file from Windows for part of the last word of each line.
  std::string unix_lines;
  for (size_t i = 0; i < script->size(); ++i) {
    if ((*script)[i] == '\r' && i + 1 < script->size() && (*script)[i + 1] == '\n') continue;
    unix_lines += (*script)[i];
  }
  if (RefuseSecret(node, named, unix_lines, judge, reader)) return std::nullopt;
  if (judge == Judge::kSubmitted &&
      RefuseSecretArgument(ProgramCommand(unix_lines), node, reader)) {
    return std::nullopt;
  }
  return unix_lines;
}

void SetCommand(const std::vector<std::string>& argv, const YamlNode& at, Judge judge,
                SpecReader* reader, JobSpec* spec) {
  YamlNode place = at;
  const auto refuse = [&](std::string message, std::string hint) {
    reader->Error(place, std::move(message), std::move(hint));
  };
  if (argv.empty() || argv[0].empty()) {
    return refuse("the command is empty", "Name the program to run: python train.py");
  }
  size_t total = 0;
  for (size_t i = 0; i < argv.size(); ++i) {
    const std::string what = "argument " + std::to_string(i) + " of the command";
    total += argv[i].size() + 1;
    if (argv[i].find('\0') != std::string::npos) return refuse(what + " holds a NUL", "");
    if (argv[i].size() > kMaxArgumentBytes) return refuse(what + " has more than 128 KiB", "");
    if (RefuseSecret(at, what, argv[i], judge, reader)) return;
  }
  if (judge == Judge::kSubmitted && RefuseSecretArgument(argv, at, reader)) return;
  if (argv.size() > kMaxArguments || total > kMaxCommandBytes) {
    return refuse("the command has too many arguments", "Put them in a file or a script");
  }
  spec->argv = argv;
}

void ReadCommand(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectList(node, "command", "[python, train.py], or use 'run' for a shell script")) {
    return;
  }
  std::vector<std::string> argv;
  const size_t before = reader->errors().size();
  for (const YamlNode& item : node.items) {
    if (const auto argument = reader->Text(item, "command")) argv.push_back(*argument);
  }
  if (reader->errors().size() == before) SetCommand(argv, node, judge, reader, spec);
}

}  // namespace stoker
