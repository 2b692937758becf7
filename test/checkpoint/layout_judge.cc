// SPDX-License-Identifier: Apache-2.0
// Is what the table says of a layout still true? Reads what a library did to its checkpoint folder,
// in order, a JSON array a line: [process, "open" | "close" | "rename" | "link" | "unlink", path,
// path], with paths below that folder ("/" = somewhere else). Prints a JSON object for each save
// that lies there at the end. Driven by layouts_hold.py.
#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "checkpoint/rule/layout.h"
#include "checkpoint/rule/name.h"
#include "checkpoint/rule/seen.h"
#include "checkpoint/rule/unit.h"

namespace stoker::test {
namespace {

struct Lies {
  size_t ended = 0;  // the last thing that was done to it
  int open = 0;
  bool renamed = false;
};

class Folder {
 public:
  void Do(const std::string& what, const std::string& path, const std::string& to) {
    ++now_;
    if (what == "open") {
      Lies& file = files_[path];
      ++file.open;
      file.ended = now_;
      file.renamed = false;
    } else if (what == "close") {
      const auto it = files_.find(path);
      if (it == files_.end() || it->second.open == 0) return;  // it was read
      --it->second.open;
      it->second.ended = now_;
    } else if (what == "unlink") {
      files_.erase(path);
    } else {
      Move(path, to, what == "link");
    }
  }
  const std::map<std::string, Lies>& files() const { return files_; }
  // When a folder was given its name with all that is in it; 0 = never.
  size_t Named(const std::string& folder) const {
    const auto it = named_.find(folder);
    return it == named_.end() ? 0 : it->second;
  }

 private:
  void Move(const std::string& from, const std::string& to, bool stays) {
    if (const auto it = files_.find(from); it != files_.end() || from == "/") {
      Lies file = from == "/" ? Lies() : it->second;
      if (!stays && from != "/") files_.erase(it);
      file.ended = now_;
      file.renamed = true;
      if (to != "/") files_[to] = file;
      return;
    }
    std::map<std::string, Lies> moved;
    for (auto it = files_.lower_bound(from + "/"); it != files_.end();) {
      if (!StartsWith(it->first, from + "/")) break;
      moved[to + it->first.substr(from.size())] = it->second;
      it = files_.erase(it);
    }
    if (to == "/") return;
    files_.merge(moved);
    named_[to] = now_;
  }

  size_t now_ = 0;
  std::map<std::string, Lies> files_;
  std::map<std::string, size_t> named_;
};

class Judge {
 public:
  Judge(const SaveUnit& unit, const Folder& folder) : unit_(unit), folder_(folder) {
    for (const std::string& path : unit.files) files_[path] = folder.files().at(path);
  }

  nlohmann::json Tell() {
    if (unit_.layout != nullptr) Look(*unit_.layout);
    return {{"unit", unit_.id},
            {"layout", unit_.layout != nullptr ? unit_.layout->name : std::string_view()},
            {"files", unit_.files.size()},
            {"how", how_},
            {"problems", problems_}};
  }

 private:
  void Look(const Layout& layout) {
    if (const size_t named = unit_.folder.empty() ? 0 : folder_.Named(unit_.folder); named != 0) {
      how_ = "renamed to its name";
      for (const auto& [path, file] : files_) {
        if (file.ended > named) Problem(path + " was written after its folder had its name");
      }
      return;
    }
    switch (layout.end) {
      case SaveEnd::kRenamed:
        how_ = "renamed to its name";
        for (const auto& [path, file] : files_) {
          if (!file.renamed) Problem(path + " was written under its name, and not renamed to it");
        }
        break;
      case SaveEnd::kLast:
        Last(layout);
        break;
      case SaveEnd::kNamed:
        Pointed(layout);
        break;
      case SaveEnd::kCounted:
        how_ = "counted";
        break;
      default:
        break;
    }
  }

  void Last(const Layout& layout) {
    const auto mark = Find(layout.last);
    if (!mark) return Problem("what is written last, " + std::string(layout.last) + ", is missing");
    const size_t end = files_.at(*mark).ended;
    how_ = *mark + " is last";
    for (const auto& [path, file] : files_) {
      const bool may = layout.more_follows || Fits(layout.also, path);
      if (file.ended > end && !may) Problem(path + " was written after " + *mark);
    }
    for (const std::string_view pattern : PatternsIn(layout.required)) {
      const auto found = Find(pattern);
      if (!found) {
        Problem("what is required, " + std::string(pattern) + ", is missing");
      } else if (files_.at(*found).ended > end) {
        Problem(*found + ", which is required, was written after " + *mark);
      }
    }
    if (layout.also.empty() || !Find(layout.where)) return;
    if (!Find(layout.also)) Problem("there is no " + std::string(layout.also));
  }

  void Pointed(const Layout& layout) {
    std::string pointer = unit_.beside.empty() ? "" : unit_.beside + "/";
    pointer += layout.pointer;
    const auto it = folder_.files().find(pointer);
    if (it == folder_.files().end()) return Problem("its pointer " + pointer + " is missing");
    how_ = pointer + " comes last";
    for (const auto& [path, file] : files_) {
      if (file.ended > it->second.ended && !layout.more_follows)
        Problem(path + " was written after " + pointer);
    }
  }

  bool Fits(std::string_view patterns, const std::string& path) const {
    return !patterns.empty() && MatchesAny(patterns, unit_.Inside(path));
  }
  // The first of its files that any of these is.
  std::optional<std::string> Find(std::string_view patterns) const {
    for (const auto& [path, file] : files_) {
      if (Fits(patterns, path)) return path;
    }
    return std::nullopt;
  }
  void Problem(const std::string& text) { problems_.push_back(text); }

  const SaveUnit& unit_;
  const Folder& folder_;
  std::map<std::string, Lies> files_;
  std::string how_ = "closed";
  std::vector<std::string> problems_;
};

int Run() {
  Folder folder;
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto op = nlohmann::json::parse(line, nullptr, false);
    if (!op.is_array() || op.size() != 4) {
      std::cerr << "this is no operation: " << line << "\n";
      return 1;
    }
    folder.Do(op[1].get<std::string>(), op[2].get<std::string>(), op[3].get<std::string>());
  }
  DirectoryScan scan;
  for (const auto& [path, file] : folder.files()) {
    FileFact fact;
    fact.path = path;
    fact.ino = scan.files.size() + 1;
    fact.size = 1;
    scan.files.push_back(fact);
  }
  Seen seen(Duration::Seconds(2));
  seen.OnRestored(scan);
  const SaveUnits units = UnitsOf(seen, KnownRows());
  for (const auto& [id, unit] : units.by_id) std::cout << Judge(unit, folder).Tell() << "\n";
  return 0;
}

}  // namespace
}  // namespace stoker::test

int main() { return stoker::test::Run(); }
