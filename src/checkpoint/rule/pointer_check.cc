// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/pointer_check.h"

#include <algorithm>
#include <vector>

#include "checkpoint/rule/episode.h"

namespace stoker {
namespace {

bool IsNamePart(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '-' || c == '.' || c == '=' || c == '+';
}

std::vector<std::string> Names(std::string_view text) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (IsNamePart(c)) {
      out.back() += c;
    } else if (!out.back().empty()) {
      out.emplace_back();
    }
  }
  return out;
}

}  // namespace

bool PointsOutside(std::string_view text, const std::set<std::string>& units,
                   const std::set<std::string>& excluded) {
  for (const std::string& name : Names(text)) {
    if (name.empty() || units.count(name) != 0) continue;
    if (excluded.count(name) != 0) return true;
    const std::string row = WithoutNumbers(name);
    if (row == name || row == "#") continue;
    int64_t newest = -1;
    for (const std::string& unit : units) {
      if (WithoutNumbers(unit) == row) newest = std::max(newest, LastNumber(unit));
    }
    if (newest >= 0 && LastNumber(name) > newest) return true;
    // All of the row that is known of is left out: what it names cannot be in the checkpoint.
    const bool left_out = std::any_of(excluded.begin(), excluded.end(), [&](const std::string& o) {
      return WithoutNumbers(o) == row;
    });
    if (newest < 0 && left_out) return true;
  }
  return false;
}

}  // namespace stoker
