// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/name.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "checkpoint/rule/step_number.h"

namespace stoker {
namespace {

constexpr size_t kLongestNumber = 15;
// Fewer runs of digits are numbers; so many, and joined to one another, are a date and a time.
constexpr int kStampRuns = 4;

// Before digits that tell apart what is no later save of the same.
constexpr std::array<std::string_view, 30> kParts = {
    "rank",  "shard", "part",   "mp",      "pp",      "tp",   "dp",    "zero",    "worker", "node",
    "host",  "gpu",   "cuda",   "device",  "trial",   "fold", "seed",  "run",     "exp",    "split",
    "chunk", "layer", "expert", "adapter", "version", "v",    "group", "replica", "of",     "proc"};

bool IsAlphabetic(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool JoinsWords(char c) { return c == '-' || c == '_' || c == '=' || c == ' ' || c == '.'; }

size_t EndOfDigits(std::string_view text, size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

// The lower-case letters that end right before `at`, joints passed over.
std::string WordBefore(std::string_view name, size_t at) {
  while (at > 0 && JoinsWords(name[at - 1])) --at;
  size_t begin = at;
  while (begin > 0 && IsAlphabetic(name[begin - 1])) --begin;
  std::string word(name.substr(begin, at - begin));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

// The digits in [at, end) are one of a part's, or count the parts.
bool OfPart(std::string_view name, size_t at, size_t end) {
  const std::string word = WordBefore(name, at);
  if (std::find(kParts.begin(), kParts.end(), word) != kParts.end()) return true;
  // 00001-of-00003
  size_t behind = end;
  while (behind < name.size() && JoinsWords(name[behind])) ++behind;
  return behind > end && StartsWith(name.substr(behind), "of") &&
         (behind + 2 == name.size() || !IsAlphabetic(name[behind + 2]));
}

// A piece of a decimal number: 0.31, or behind a word that tells a value.
bool OfValue(std::string_view name, size_t at, size_t end) {
  const bool before = at >= 2 && name[at - 1] == '.' && IsDigit(name[at - 2]);
  const bool behind = end + 1 < name.size() && name[end] == '.' && IsDigit(name[end + 1]);
  return before || behind;
}

bool OfExtension(std::string_view name, size_t at) {
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos && at > dot + 1 && IsAlphabetic(name[dot + 1]);
}

// Of one word in braces: how much of `text` it may stand for at least and at most.
struct Span {
  size_t least = 0;
  size_t most = 0;
};

Span SpanOf(std::string_view word, std::string_view text) {
  Span span;
  if (word == "name") {
    span.most = std::min(text.find('/'), text.size());
    span.least = 1;
  } else {
    span.most = EndOfDigits(text, 0);
    span.least = span.most;  // all digits that follow one another are one number
    if (span.most == 0) span.least = 1;
  }
  return span;
}

bool Matches(std::string_view pattern, std::string_view text, Captured* captured);

bool MatchesWord(std::string_view word, std::string_view rest, std::string_view text,
                 Captured* captured) {
  const Span span = SpanOf(word, text);
  for (size_t length = span.most; length + 1 > span.least && length >= span.least; --length) {
    const std::string_view value = text.substr(0, length);
    const auto known = captured->find(word);
    const bool fits = known == captured->end() || known->second == value;
    if (fits) {
      Captured next = *captured;
      next.emplace(word, value);
      if (Matches(rest, text.substr(length), &next)) {
        *captured = std::move(next);
        return true;
      }
    }
    if (length == 0) break;
  }
  return false;
}

bool Matches(std::string_view pattern, std::string_view text, Captured* captured) {
  while (!pattern.empty()) {
    const char c = pattern[0];
    if (c == '{') {
      const size_t end = pattern.find('}');
      return MatchesWord(pattern.substr(1, end - 1), pattern.substr(end + 1), text, captured);
    }
    if (c == '*') {
      const size_t most = std::min(text.find('/'), text.size());
      for (size_t length = 0; length <= most; ++length) {
        Captured next = *captured;
        if (!Matches(pattern.substr(1), text.substr(length), &next)) continue;
        *captured = std::move(next);
        return true;
      }
      return false;
    }
    if (text.empty() || (c != '?' && c != text[0]) || (c == '?' && text[0] == '/')) return false;
    pattern.remove_prefix(1);
    text.remove_prefix(1);
  }
  return text.empty();
}

}  // namespace

bool MatchesName(std::string_view pattern, std::string_view text, Captured* captured) {
  Captured found;
  if (!Matches(pattern, text, &found)) return false;
  if (captured != nullptr) *captured = std::move(found);
  return true;
}

bool MatchesAny(std::string_view patterns, std::string_view text) {
  while (!patterns.empty()) {
    const size_t end = std::min(patterns.find('|'), patterns.size());
    if (MatchesName(patterns.substr(0, end), text)) return true;
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return false;
}

SaveRow RowOf(std::string_view name, bool parts_count) {
  SaveRow row;
  const StepNumber step = StepInPath(name);
  if (step.certain()) row.numbers.push_back(step.value);
  for (size_t at = 0; at < name.size();) {
    if (!IsDigit(name[at])) {
      row.name += name[at++];
      continue;
    }
    const size_t end = EndOfDigits(name, at);
    const std::string_view digits = name.substr(at, end - at);
    if ((!parts_count && OfPart(name, at, end)) || OfExtension(name, at)) {
      row.name += digits;
    } else {
      row.name += '#';
      if (!OfValue(name, at, end) && digits.size() <= kLongestNumber) {
        row.numbers.push_back(WholeNumber(digits, 0, INT64_MAX).value_or(0));
      }
    }
    at = end;
  }
  return row;
}

// 2024-01-31, 20240131_101500.
bool IsStamp(std::string_view name) {
  int runs = 0;
  for (size_t at = 0; at < name.size();) {
    if (!IsDigit(name[at])) {
      ++at;
      continue;
    }
    const size_t end = EndOfDigits(name, at);
    const std::string_view digits = name.substr(at, end - at);
    const bool year = StartsWith(digits, "19") || StartsWith(digits, "20");
    if (year && digits.size() == 8 && digits.substr(4, 2) <= "12" && digits.substr(6) <= "31")
      return true;
    if (year && digits.size() == 4 && end + 3 <= name.size() && JoinsWords(name[end]) &&
        EndOfDigits(name, end + 1) == end + 3) {
      return true;
    }
    ++runs;
    at = end;
  }
  return runs >= kStampRuns;
}

}  // namespace stoker
