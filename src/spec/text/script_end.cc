// SPDX-License-Identifier: Apache-2.0
#include "spec/text/script_end.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace stoker {
namespace {

// The parts of the last statement that runs anything.
class LastStatement {
 public:
  explicit LastStatement(std::string_view script) : script_(script) {}

  std::vector<std::string> Parts() {
    while (at_ < script_.size()) Step();
    EndStatement();
    return last_;
  }
  // Of any statement, the last part that names a program's script; after Parts().
  const std::string& program() const { return program_; }

 private:
  char Now(size_t ahead = 0) const {
    return at_ + ahead < script_.size() ? script_[at_ + ahead] : '\0';
  }
  bool AtWord() const { return part_.empty() || part_.back() == ' '; }

  void Step() {
    const char c = Now();
    if (c == '\\') {
      if (Now(1) != '\n')
        Take(2);
      else
        at_ += 2;
    } else if (c == '\'' || c == '"' || c == '`') {
      TakeQuoted();
    } else if (c == '$' && Now(1) == '(') {
      TakeBalanced();
    } else if (c == '#' && AtWord()) {
      at_ = std::min(script_.find('\n', at_), script_.size());
    } else if (c == '<' && Now(1) == '<') {
      TakeHere();
    } else if (c == '\n') {
      ++at_;
      if (parts_.empty() || !IsBlank(part_)) EndStatement();  // else it goes on behind a '|'
      SkipHere();
    } else if (c == '|' || c == '&' || c == ';') {
      TakeSign(c);
    } else {
      part_ += c == '\t' || c == '\r' ? ' ' : c;
      ++at_;
    }
  }

  void TakeSign(char c) {
    const char before = part_.empty() ? '\0' : part_.back();
    const bool redirect = before == '>' || before == '<' || (c == '&' && Now(1) == '>');
    if (c != ';' && redirect) return Take(1);
    const bool twice = Now(1) == c;
    at_ += twice || (c == '|' && Now(1) == '&') ? 2 : 1;
    if (c != '|' || twice) return EndStatement();
    parts_.push_back(part_);
    part_.clear();
  }

  void Take(size_t count) {
    part_ += script_.substr(at_, count);
    at_ = std::min(at_ + count, script_.size());
  }

  void TakeQuoted() {
    const char quote = Now();
    size_t end = at_ + 1;
    while (end < script_.size() && script_[end] != quote) {
      end += script_[end] == '\\' && quote != '\'' ? 2 : 1;
    }
    Take(end + 1 - at_);
  }

  void TakeBalanced() {
    int depth = 0;
    size_t end = at_ + 1;
    for (; end < script_.size(); ++end) {
      if (script_[end] == '(') ++depth;
      if (script_[end] == ')' && --depth == 0) break;
    }
    Take(end + 1 - at_);
  }

  // "<<EOF": its lines begin behind this one.
  void TakeHere() {
    if (Now(2) == '<') return Take(3);
    Take(2);
    if (Now() == '-') Take(1);
    while (Now() == ' ') Take(1);
    const size_t begin = at_;
    while (at_ < script_.size() &&
           std::string_view(" \t\n;|&<>").find(Now()) == std::string_view::npos)
      Take(1);
    here_ = script_.substr(begin, at_ - begin);
    std::erase_if(here_, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
  }

  void SkipHere() {
    if (here_.empty()) return;
    while (at_ < script_.size()) {
      const size_t end = std::min(script_.find('\n', at_), script_.size());
      std::string_view line = script_.substr(at_, end - at_);
      at_ = std::min(end + 1, script_.size());
      while (!line.empty() && line[0] == '\t') line.remove_prefix(1);
      if (line == here_) break;
    }
    here_.clear();
  }

  static bool IsBlank(std::string_view text) {
    return text.find_first_not_of(' ') == std::string_view::npos;
  }

  // Closing words, and passing on of what there was, run nothing themselves.
  static bool RunsNothing(std::string_view part) {
    const size_t begin = part.find_first_not_of(' ');
    if (begin == std::string_view::npos) return true;
    part = part.substr(begin, part.find_last_not_of(' ') - begin + 1);
    if (part == "exit" || part == "exit $?" || part == "exit \"$?\"") return true;
    constexpr std::string_view kClosing[] = {"done", "fi", "esac", "}", ")"};
    return std::find(std::begin(kClosing), std::end(kClosing), part.substr(0, part.find(' '))) !=
           std::end(kClosing);
  }

  static bool NamesProgram(std::string_view part) {
    const size_t module = part.find(" -m ");
    if (module != std::string_view::npos) return !StartsWith(part.substr(module + 4), "pip ");
    const size_t at = part.find(".py");
    return at != std::string_view::npos && (at + 3 == part.size() || part[at + 3] == ' ');
  }

  void EndStatement() {
    const bool nothing = parts_.empty() && RunsNothing(part_);
    if (!nothing) {
      parts_.push_back(part_);
      last_ = parts_;
      for (const std::string& part : parts_) {
        if (NamesProgram(part)) program_ = part;
      }
    }
    parts_.clear();
    part_.clear();
  }

  std::string_view script_;
  size_t at_ = 0;
  std::string part_;
  std::vector<std::string> parts_;
  std::string here_;
  std::vector<std::string> last_;
  std::string program_;
};

// Without what stands before a command: "then", "FOO=1", "(".
std::vector<std::string> CommandWords(const std::string& part) {
  constexpr std::string_view kBefore[] = {"then",  "do",   "else",   "{",     "(",
                                          "!",     "time", "if",     "while", "until",
                                          "nohup", "exec", "command"};
  std::vector<std::string> words = Split(part, ' ');
  std::erase(words, "");
  const auto passed = [&](std::string& word) {
    while (word.size() > 1 && word[0] == '(') word.erase(0, 1);
    const size_t sign = word.find('=');
    return std::find(std::begin(kBefore), std::end(kBefore), word) != std::end(kBefore) ||
           (sign != std::string_view::npos && sign > 0 && word.find_first_of("/'\"-") > sign);
  };
  while (!words.empty() && passed(words[0])) words.erase(words.begin());
  return words;
}

std::string CommandName(const std::string& part) {
  const std::vector<std::string> words = CommandWords(part);
  if (words.empty()) return "";
  std::string word = words[0];
  while (word.size() > 1 && word.back() == ')') word.pop_back();
  return word.substr(word.rfind('/') + 1);
}

bool OnlyFeeds(const std::string& part) {
  constexpr std::string_view kFeeders[] = {"echo", "printf", "yes"};
  const std::string name = CommandName(part);
  return std::find(std::begin(kFeeders), std::end(kFeeders), name) != std::end(kFeeders);
}

bool IsShell(std::string_view path) {
  constexpr std::string_view kShells[] = {"sh", "bash", "zsh", "dash", "ksh"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::find(std::begin(kShells), std::end(kShells), name) != std::end(kShells);
}

}  // namespace

std::optional<PipeEnd> EndsInPipe(std::string_view script) {
  for (const std::string_view word : {"pipefail", "PIPESTATUS", "pipestatus"}) {
    if (script.find(word) != std::string_view::npos) return std::nullopt;
  }
  const std::vector<std::string> parts = LastStatement(script).Parts();
  if (parts.empty() || CommandName(parts.back()).empty()) return std::nullopt;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (OnlyFeeds(parts[i])) continue;
    return PipeEnd{CommandName(parts[i]), CommandName(parts.back())};
  }
  return std::nullopt;
}

std::vector<std::string> LastCommand(std::string_view script) {
  const std::vector<std::string> parts = LastStatement(script).Parts();
  return parts.empty() ? std::vector<std::string>() : CommandWords(parts.back());
}

std::vector<std::string> ProgramCommand(std::string_view script) {
  LastStatement statement(script);
  (void)statement.Parts();
  std::vector<std::string> words;
  char open = 0;  // the quote that the last word is in
  for (const std::string& piece : CommandWords(statement.program())) {
    if (open == 0 && piece.find_first_of("<>") != std::string::npos) break;
    if (open == 0) words.emplace_back();
    if (open != 0) words.back() += ' ';
    for (const char c : piece) {
      const bool quote = (c == '\'' || c == '"') && (open == 0 || open == c);
      if (quote) open = open == 0 ? c : 0;
      if (!quote) words.back() += c;
    }
  }
  return words;
}

std::string ScriptInCommand(const std::vector<std::string>& argv) {
  const auto shell = std::find_if(argv.begin(), argv.end(), IsShell);
  if (shell == argv.end()) return "";
  for (auto word = shell + 1; word != argv.end(); ++word) {
    if (*word == "pipefail") return "";  // bash -o pipefail -c …
    const bool flags = word->size() > 1 && (*word)[0] == '-' && (*word)[1] != '-';
    if (!flags && word->substr(0, 1) != "-") return "";
    if (flags && word->find('c') != std::string_view::npos && word + 1 != argv.end())
      return *(word + 1);
    if (flags && word->back() == 'o' && word + 1 != argv.end()) {
      if (*++word == "pipefail") return "";
    }
  }
  return "";
}

bool IsShellScript(std::string_view path, std::string_view text) {
  if (EndsWith(path, ".sh") || EndsWith(path, ".bash")) return true;
  if (!StartsWith(text, "#!")) return false;
  const std::string first(text.substr(2, text.find('\n') - 2));
  const std::vector<std::string> words = Split(first, ' ');
  return std::any_of(words.begin(), words.end(), IsShell);
}

}  // namespace stoker
