// SPDX-License-Identifier: Apache-2.0
#include "cli/words/stubs.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/terminal/table.h"

namespace stoker::cli {
namespace {

constexpr size_t kLeast = 8;

struct Letter {
  std::string bytes;
  size_t width = 0;
};
using Letters = std::vector<Letter>;

Letters LettersOf(const std::string& text) {
  Letters out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    out.push_back({text.substr(at, end - at), 0});
    out.back().width = DisplayWidth(out.back().bytes);
    at = end;
  }
  return out;
}

// As many letters from `from` on as have room.
std::string FirstLetters(const Letters& letters, size_t from, size_t room) {
  std::string out;
  for (size_t i = from; i < letters.size() && letters[i].width <= room; ++i) {
    room -= letters[i].width;
    out += letters[i].bytes;
  }
  return out;
}

std::string LastLetters(const Letters& letters, size_t room) {
  std::string out;
  for (size_t i = letters.size(); i > 0 && letters[i - 1].width <= room; --i) {
    room -= letters[i - 1].width;
    out.insert(0, letters[i - 1].bytes);
  }
  return out;
}

std::string WithoutMiddle(const std::string& text, size_t width) {
  if (DisplayWidth(text) <= width) return text;
  const Letters letters = LettersOf(text);
  return FirstLetters(letters, 0, width / 2) + "…" + LastLetters(letters, width - width / 2 - 1);
}

// The beginning, and what comes from `differs` on.
std::string FromWhereItDiffers(const Letters& letters, size_t differs, size_t width) {
  const std::string head = FirstLetters(letters, 0, width / 4) + "…";
  const size_t room = width - DisplayWidth(head);
  size_t rest = 0;
  for (size_t i = differs; i < letters.size(); ++i) rest += letters[i].width;
  if (rest <= room) return head + LastLetters(letters, room);
  return head + FirstLetters(letters, differs, room - 1) + "…";
}

size_t CommonPrefix(const std::vector<Letters>& all) {
  size_t common = all.front().size();
  for (const Letters& each : all) {
    size_t same = 0;
    while (same < std::min(common, each.size()) && each[same].bytes == all.front()[same].bytes) {
      ++same;
    }
    common = same;
  }
  return common;
}

// Stubs for texts whose stubs without their middle would be the same.
void TellApart(const std::vector<std::string>& texts, size_t width,
               std::map<std::string, std::string>* stubs, std::set<std::string>* used) {
  std::vector<Letters> all;
  for (const std::string& text : texts) all.push_back(LettersOf(text));
  size_t differs = CommonPrefix(all);
  for (size_t back = 0; back < kLeast && differs > 0; ++back, --differs) {  // "0.1", not "1"
    const std::string& before = all.front()[differs - 1].bytes;
    if (before == " " || before == "=" || before == "/") break;
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    std::string stub = FromWhereItDiffers(all[i], differs, width);
    for (size_t n = 1; !used->insert(stub).second; ++n) {
      const std::string mark = "~" + std::to_string(n);
      stub = WithoutMiddle(texts[i], width - mark.size()) + mark;
    }
    (*stubs)[texts[i]] = stub;
  }
}

}  // namespace

std::vector<std::string> Stubs(const std::vector<std::string>& texts, size_t width) {
  width = std::max(width, kLeast);
  std::map<std::string, std::vector<std::string>> by_stub;
  for (const std::string& text : std::set<std::string>(texts.begin(), texts.end())) {
    by_stub[WithoutMiddle(text, width)].push_back(text);
  }
  std::map<std::string, std::string> stubs;
  std::set<std::string> used;
  for (const auto& [stub, alike] : by_stub) {
    if (alike.size() > 1) continue;
    stubs[alike.front()] = stub;
    used.insert(stub);
  }
  for (const auto& [stub, alike] : by_stub) {
    if (alike.size() > 1) TellApart(alike, width, &stubs, &used);
  }
  std::vector<std::string> out;
  out.reserve(texts.size());
  for (const std::string& text : texts) out.push_back(stubs[text]);
  return out;
}

}  // namespace stoker::cli
