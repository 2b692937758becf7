// SPDX-License-Identifier: Apache-2.0
// Names as layouts write them, and the row that a name is a member of. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// What stands for {n}, {e}, {name}, … in a name.
using Captured = std::map<std::string, std::string, std::less<>>;

// `pattern` of the whole of `text`, both '/'-separated: '*' is any number of characters and '?' is
// one, neither of them '/'; {name} is one or more such characters; {n}, {k} and any other word in
// braces are digits, the same ones where it stands twice.
bool MatchesName(std::string_view pattern, std::string_view text, Captured* captured = nullptr);
// Any of several patterns, separated by '|'.
bool MatchesAny(std::string_view patterns, std::string_view text);

// "step-300" is 300 of the row "step-#". Digits that tell apart what is no later save of the same
// (rank_1, shard-2, 00001-of-00003) or belong to an extension (h5) stay as they are. Digits of a
// value (loss=0.31) differ within a row, and order nothing.
struct SaveRow {
  std::string name{};  // with '#' for digits that differ
  // What orders its members: the step, where a word says so, and all other digits. None: its
  // members are not known to follow one another.
  std::vector<int64_t> numbers{};
  bool operator==(const SaveRow&) const = default;
};
// `parts_count`: digits that tell parts apart are numbers, too.
SaveRow RowOf(std::string_view name, bool parts_count = false);
// A date in it: of a folder, it names a run and no save.
bool IsStamp(std::string_view name);

}  // namespace stoker
