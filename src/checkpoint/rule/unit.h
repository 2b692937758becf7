// SPDX-License-Identifier: Apache-2.0
// Which files belong to one save: by the table, by a number in their folder's name or their own,
// else each by itself. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoint/rule/layout.h"
#include "checkpoint/rule/name.h"
#include "checkpoint/rule/seen.h"

namespace stoker {

// A file of this name inside a folder says that the folder is complete. Once one folder of a row
// has had it, its sisters without it are not.
inline constexpr char kCompleteMark[] = ".complete";

// One save of one thing, as it lies there.
struct SaveUnit {
  // Its folder, its file, or of several files beside one another their pattern ("ckpt-1.index").
  std::string id{};
  std::string folder{};            // "" = none of its own: its files are beside others
  std::string beside{};            // where its folder or files are; "" = the top
  const Layout* layout = nullptr;  // null: none is known
  SaveRow row{};                   // numbers: none, if it is of no row
  std::string line{};              // what is saved again and again: where it is, and its row
  // Its number counts saves as far as its name hints ("model_200.pt"); parts of one save have such
  // names, too.
  bool weak = false;
  std::vector<std::string> files{};      // that count, ordered: neither logs nor temporary names
  std::vector<std::string> temporary{};  // of temporary names, in its folder
  std::set<std::string> lost{};          // files of it that are gone, while others are there
  // `path` as a layout's lists have it: below the folder, or beside the files.
  std::string_view Inside(const std::string& path) const;
  bool numbered() const { return !row.numbers.empty(); }
  // Of one file, which is all of it.
  bool single() const { return folder.empty() && !group; }
  bool group = false;  // of several files beside one another
};

// What is known from before: a row whose members were of a layout has more of them, and some rows
// are none.
struct NamedFile {
  const Layout* layout = nullptr;
  std::string own;  // its name, or the pattern of the group that it is of
  bool group = false;
};
struct KnownRows {
  mutable std::unordered_map<std::string, NamedFile> named;  // what the table says of a name
  std::map<std::string, const Layout*> layouts;              // by line
  std::set<std::string> none;    // lines whose older members were written again
  std::set<std::string> marked;  // lines whose folders the user marks as complete
  std::string complete;          // a folder with a file of this name is a unit; "" = none is said
  std::set<std::string> trees;
  std::set<std::string> rotated;  // lines of which older members went while newer ones came   //
                                  // folders of more files than can be followed
};

struct SaveUnits {
  std::map<std::string, SaveUnit> by_id;
  std::map<std::string, std::string> id_of;  // by path of a file that counts
};
// So many things in one folder of the top are followed one by one; of more, the folder is a unit,
// of whose files each save may write others.
inline constexpr size_t kMostInATree = 64;
// Folders without a file that counts, logs, and what has a temporary name are in none.
SaveUnits UnitsOf(const Seen& seen, const KnownRows& known);

}  // namespace stoker
