// SPDX-License-Identifier: Apache-2.0
// What is known of how frameworks lay out a save. Data: layouts.cc has an entry for each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace stoker {

// How the end of a save shows. Whatever it is, a unit that was renamed to its name is whole.
enum class SaveEnd {
  kRenamed,  // not otherwise, but for a file that its format proves
  kLast,     // Layout::last is closed, behind all else
  kCounted,  // as many files as the save before had
  kClosed,   // the file is closed, and its format proves it
  kNamed,    // Layout::pointer names it (its text is needed, not only that it moved)
  kAnyTime,  // a database with its journal: whole at any one moment
  kRest,     // nothing shows it
};

// Lists are separated by blanks, alternatives in them by '|'; patterns as in MatchesName. Paths are
// below the unit's folder, or beside its files.
struct Layout {
  std::string_view name;
  // A folder of one save ("checkpoint-{n}/"), or the files of one: {n}, {e}, {b} and {name} are the
  // same in all of them, other words are not.
  std::string_view unit;
  SaveEnd end = SaveEnd::kClosed;
  std::string_view known_by = {};  // of a folder: any of these in it tells; none: its name does
  std::string_view last = {};      // written last, and what says so
  std::string_view required = {};  // each must be there, and have been written before `last`
  std::string_view also = {};      // must be there, whenever it was written, …
  std::string_view where = {};     // … if any of these is
  bool barrier = false;            // the end is written after a collective: it speaks for all ranks
  bool more_follows = false;       // what is written behind the end is no part of what is restored
  bool certain = false;            // the end needs no second save: yes or one_rank in layouts.yaml
  bool alone = false;              // of a file: nothing else is written in the same save
  std::string_view pointer = {};   // beside the unit
  std::string_view unfinished = {};  // in the unit or beside it: not finished while it is there
  std::string_view temp = {};        // in the unit or beside it: no part of it, and no unit
};

std::span<const Layout> Layouts();  // in the order in which they are tried
std::string_view NamesOfNoSave();   // wherever they stand
std::vector<std::string_view> PatternsIn(std::string_view list);

}  // namespace stoker
